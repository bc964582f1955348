#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "agent/control_message.h"
#include "agent/watch_news.h"
#include "cli/server_access.h"
#include "coordinator/observation.h"

namespace eroica {

struct ServiceLinkOptions {
  KnownServer server;
  std::string host;  ///< this one's name
  std::chrono::milliseconds status_every{2000};
  std::chrono::milliseconds least_pause{1000};  ///< after a failure; doubles with each, drawn from its upper half
  std::chrono::milliseconds most_pause{60'000};
  std::chrono::milliseconds last_words{5000};  ///< how long stop() tries to deliver what is left; in all
};

/// Tells a server of the jobs of this process: how they stand every few seconds, and what happens to them at once. What
/// it could not deliver waits, the latest 500 pieces of it, and is delivered once, whoever was started anew between.
/// Windows that are asked for there are taken here. One thread; nobody else ever waits for the network.
class ServiceLink {
 public:
  using Ask = std::function<JobStatus()>;
  using Trigger = std::function<TriggerAnswer(const ControlRequest&)>;

  explicit ServiceLink(ServiceLinkOptions options);
  ServiceLink(const ServiceLink&) = delete;
  ServiceLink& operator=(const ServiceLink&) = delete;
  ~ServiceLink() { stop(); }

  void start();
  /// Returns when all is delivered, or cannot be in time.
  void stop();

  /// Both are called on the link's thread, until detach() returns.
  void attach(const std::string& job, Ask ask, Trigger trigger);
  void detach(const std::string& job);
  /// Never waits for the network.
  void tell(const std::string& job, int64_t unix_ns, decltype(Observation::what) what);
  /// Tells what of the news the server wants to know. Diagnoses are told with tell().
  void hear(const std::string& job, const WatchNews& news);

 private:
  struct Job {
    Ask ask;
    Trigger trigger;
  };
  struct Waiting {
    Observation observation;
    size_t bytes = 0;
  };
  enum class Delivery { kDone, kLater };
  static constexpr size_t kMostWaiting = 500;

  void run();
  Delivery try_to_deliver(bool with_status);
  Delivery deliver(bool with_status);
  void take_orders(const std::string& answer);
  void say_once(const std::string& problem);
  std::chrono::milliseconds pause();

  ServiceLinkOptions options_;
  std::string sender_;
  uint64_t dice_;
  int failures_ = 0;
  size_t most_pieces_ = kMostWaiting;  // of a batch: fewer after one that was refused
  std::string said_;
  std::set<int64_t> orders_;  // that were followed

  std::mutex jobs_mutex_;  // held while jobs are asked
  std::map<std::string, Job> jobs_;

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  int64_t last_number_ = 0;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point deadline_;  // once it stops
  std::thread thread_;
};

}  // namespace eroica
