#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/incident.h"
#include "web/http_client.h"
#include "web/service.h"

namespace eroica {

struct CourierOptions {
  std::string secret;        ///< webhooks are signed with it; empty: they are not
  std::string alertmanager;  ///< http://HOST:PORT[/PREFIX]; empty: none
  std::chrono::milliseconds round{1000};
  int64_t alerts_every_ns = 60'000'000'000;
};

/// Takes what the service has to deliver to where it belongs, on a thread of its own: events of incidents to webhooks,
/// each until it is accepted (Service::due_deliveries), and the incidents as they stand to an Alertmanager.
class Courier {
 public:
  using Call = std::function<Result<HttpAnswer>(const ServerUrl& server, const HttpCall& call)>;
  using Say = std::function<void(const std::string& text)>;
  /// `service` must outlive it. `call`: does one request, as http_call(). `say` tells people what fails, once.
  Courier(Service& service, CourierOptions options, Call call, Say say);
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;
  ~Courier() { stop(); }

  void start();
  void stop();
  /// What the thread does again and again.
  void deliver();

 private:
  void run();
  void deliver_events();
  void tell_alertmanager();
  Result<HttpAnswer> ask(const ServerUrl& server, HttpCall& call);
  void note(const std::string& target, const Result<HttpAnswer>& answer);

  Service* service_;
  CourierOptions options_;
  Call call_;
  Say say_;
  int64_t alerted_ns_ = 0;
  std::map<std::string, std::string> said_;  // what was told of a target that fails
  std::mutex mutex_;
  std::condition_variable came_;
  bool stopping_ = false;
  std::thread thread_;
};

/// "t=1800000000,v1=…": HMAC-SHA-256 of "t.body", so that nobody can send an old event again as a new one.
std::string webhook_signature(const std::string& secret, int64_t unix_s, const std::string& body);
/// What an Alertmanager takes at /api/v2/alerts. One that is closed ends its alert; others last for five minutes more.
std::string alerts_json(const std::vector<Incident>& incidents, int64_t now_unix_ns);

}  // namespace eroica
