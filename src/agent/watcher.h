#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/control_message.h"
#include "agent/datagram_socket.h"
#include "agent/end_watch.h"
#include "agent/inquiry_runner.h"
#include "agent/interference.h"
#include "agent/job_folder.h"
#include "agent/rank_table.h"
#include "agent/step_ring.h"
#include "agent/watch_cost.h"
#include "agent/watch_news.h"
#include "agent/window_runner.h"
#include "base/result.h"
#include "steps/detector.h"
#include "steps/record_log.h"

namespace eroica {

struct WatchOptions {
  std::string job;
  Policy policy;
  bool watch_only = false;         ///< no windows
  std::optional<double> window_s;  ///< length; absent: about ten steps
};

/// What was seen over the whole run.
struct WatchSummary {
  int64_t last_step = 0;
  size_t ranks = 0;
  uint64_t records = 0;
  uint64_t dropped = 0;  ///< datagrams that the job could not send, and step records that were not read in time
  uint64_t refused = 0;  ///< datagrams that were broken, or not the job's
  uint32_t windows = 0;
  double profiled_s = 0;
};

/// Watches one job on this host: reads what its probes send, answers Kineto's clients, has the detector look at the
/// steps, and takes windows and inquiries when it says so. One thread that does nothing else, since a socket's queue is
/// short, and so is a ring of steps.
class Watcher {
 public:
  /// Binds the job's sockets. The folder must outlive this. Error kWrite.
  static Result<std::unique_ptr<Watcher>> make(JobFolder& folder, WatchOptions options, WatchListener listener);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() { stop(); }

  void start();
  void stop();
  /// How the job stands, not more than a second ago; on any thread. What its listener knows is not in it.
  [[nodiscard]] JobStatus status() const;
  /// Asks for a window now and waits until that is decided; on any thread but the watcher's.
  TriggerAnswer trigger(const ControlRequest& request);
  /// After stop().
  [[nodiscard]] WatchSummary summary() const;
  /// Step records as a file of them (record_log.h); after stop().
  [[nodiscard]] std::string records() const { return log_.bytes(); }

 private:
  Watcher(JobFolder& folder, WatchOptions options, WatchListener listener, DatagramSocket probes, DatagramSocket kineto,
          int wake);

  void run();
  void give_up(const char* why);
  void read_probes();
  void read_kineto();
  void read_rings();
  void on_step(LiveRank& rank, const StepMessage& step);
  void on_hello(HelloMessage hello, Datagram& from);
  void refuse_second(const LiveRank& holder, pid_t pid, const std::string& name);
  void on_message(ProbeMessage message, Datagram& from);
  void ask_who();
  void hear(const std::vector<DetectorEvent>& events);
  void answer_triggers();
  TriggerAnswer begin_asked(const ControlRequest& request);
  /// Empty, or why there is none.
  std::string begin_window(const DetectorEvent& event, double length_s, const std::string& reason);
  void each_tick();
  void each_second();
  void look_after_sockets();
  void look_for_ended(bool at_all);
  void note_gone(LiveRank& rank);
  void take_ends();
  void tell_ends(bool at_once);
  void show_status();
  [[nodiscard]] JobState state() const;
  [[nodiscard]] WatchCost cost() const;
  void tell_ranks(bool at_once);
  void leave(LiveRank& rank);

  JobFolder* folder_;
  std::string sockets_;
  WatchOptions options_;
  WatchListener listener_;
  DatagramSocket probes_;
  DatagramSocket kineto_;
  int wake_;
  RankTable ranks_;
  StepRings rings_;
  std::atomic<bool> failed_ = false;
  uint32_t marks_changed_ = 0;          ///< from one optimizer's steps to another's
  std::set<std::string> told_seconds_;  ///< probes of ranks that had another process
  std::set<std::string> introduced_;    ///< probes that said HELLO
  std::optional<Detector> detector_;
  StepPace pace_;
  RecordLog log_;
  WindowRunner windows_;
  InquiryRunner inquiries_;
  EndWatch ends_;
  WatchSummary summary_;
  uint64_t probe_cost_ns_ = 0;  // of all records
  double interference_ms_ = -1;
  int64_t began_ns_ = 0;
  int64_t now_ns_ = 0;
  int64_t second_ns_ = 0;
  int64_t first_rank_ns_ = 0;
  int64_t detector_began_ns_ = 0;
  int64_t began_unix_ns_ = 0;
  int64_t cleared_ns_ = 0;
  bool sockets_lost_ = false;  // and told
  std::vector<int32_t> told_ranks_;

  struct Trigger {
    uint64_t id = 0;
    ControlRequest request;
    std::promise<TriggerAnswer> answer;
  };
  mutable std::mutex shared_;
  JobStatus shown_;                // shared
  std::vector<Trigger> triggers_;  // shared
  uint64_t last_trigger_ = 0;      // shared

  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace eroica
