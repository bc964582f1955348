#include "cli/service_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/json_member.h"
#include "agent/this_thread.h"
#include "base/clocks.h"
#include "base/hash.h"
#include "cli/live_report.h"
#include "coordinator/json.h"
#include "web/secret.h"

namespace eroica {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = DetectorEvent::Kind;

constexpr int kNice = 10;
constexpr size_t kMostWaitingBytes = size_t{32} << 20;
constexpr size_t kMostBatchBytes = size_t{8} << 20;
constexpr size_t kMostFollowed = 1000;
constexpr std::chrono::milliseconds kLastPause{200};

size_t bytes_of(const Observation& observation) {
  const auto* document = std::get_if<DocumentTold>(&observation.what);
  return 512 + (document == nullptr ? 0 : document->json.size());
}

/// null: it is none that one of ours would give.
nlohmann::json json_in(const std::string& body) {
  return is_shallow(body) ? nlohmann::json::parse(body, nullptr, false) : nlohmann::json();
}

std::string problem_of(const HttpAnswer& answer) {
  const nlohmann::json json = json_in(answer.body);
  return fmt::format("{}{}", answer.status, json.is_object() ? ", " + text(json, "error") : "");
}

}  // namespace

ServiceLink::ServiceLink(ServiceLinkOptions options)
    : options_(std::move(options)), sender_(random_hex(12)), dice_(hash_bytes(sender_)) {}

void ServiceLink::start() {
  thread_ = std::thread([this] { run(); });
}

void ServiceLink::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    deadline_ = Clock::now() + options_.last_words;
  }
  came_.notify_one();
  thread_.join();
}

void ServiceLink::attach(const std::string& job, Ask ask, Trigger trigger) {
  const std::lock_guard lock(jobs_mutex_);
  jobs_[job] = {std::move(ask), std::move(trigger)};
}

void ServiceLink::detach(const std::string& job) {
  const std::lock_guard lock(jobs_mutex_);
  jobs_.erase(job);
}

void ServiceLink::tell(const std::string& job, int64_t unix_ns, decltype(Observation::what) what) {
  {
    const std::lock_guard lock(mutex_);
    Waiting fresh{{++last_number_, unix_ns, job, options_.host, std::move(what)}, 0};
    fresh.bytes = bytes_of(fresh.observation);
    waiting_bytes_ += fresh.bytes;
    waiting_.push_back(std::move(fresh));
    while (waiting_.size() > kMostWaiting || (waiting_bytes_ > kMostWaitingBytes && waiting_.size() > 1)) {
      waiting_bytes_ -= waiting_.front().bytes;
      waiting_.pop_front();
    }
  }
  came_.notify_one();
}

void ServiceLink::hear(const std::string& job, const WatchNews& news) {
  if (const auto* detected = std::get_if<Detected>(&news)) {
    const DetectorEvent& event = detected->event;
    switch (event.kind) {
      case Kind::kSlow: {
        const SlowFinding& slow = event.slow;
        const double level_ms = std::max(slow.level_ms, slow.baseline_ms + slow.excess_ms);
        return tell(job, event.unix_ns,
                    TroubleTold{TroubleKind::kSlow, slow.onset_unix_ns, slow.onset_step, level_ms, slow.baseline_ms});
      }
      case Kind::kBlocked:
        return tell(job, event.unix_ns,
                    TroubleTold{TroubleKind::kBlocked, event.blocked.since_unix_ns, event.step, 0, 0});
      case Kind::kRecovered:
      case Kind::kUnblocked:
        return tell(job, event.unix_ns, RecoveryTold{event.step});
      case Kind::kStillSlow:
      case Kind::kBaseline:
      case Kind::kRequested:
        return;
    }
  } else if (const auto* taken = std::get_if<WindowTaken>(&news)) {
    const WindowPlan& plan = taken->window.plan();
    tell(job, unix_ns(),
         WindowTold{plan.id, plan.length_s(), static_cast<int64_t>(taken->window.written_count()),
                    taken->interference_ms});
  }
}

/// The upper half of the range, so that many hosts do not come back at once.
std::chrono::milliseconds ServiceLink::pause() {
  const auto whole = std::min(options_.most_pause, options_.least_pause * (1 << std::min(failures_ - 1, 10)));
  dice_ = hash_combine(dice_, 1);
  return whole / 2 + whole * static_cast<int64_t>(dice_ % 1000) / 2000;
}

void ServiceLink::say_once(const std::string& problem) {
  if (problem == said_) return;
  said_ = problem;
  if (problem.empty()) return say("the server is told of everything again");
  say(fmt::format("the server is told of nothing: {}; tried again until it works", problem));
}

void ServiceLink::run() {
  give_way(kNice);
  Clock::time_point next = Clock::now();
  while (true) {
    std::unique_lock lock(mutex_);
    // What happens is told at once, unless the server failed just now.
    came_.wait_until(lock, next, [this] { return stopping_ || (failures_ == 0 && !waiting_.empty()); });
    if (stopping_) break;
    const bool with_status = Clock::now() >= next;
    lock.unlock();
    const Delivery delivery = try_to_deliver(with_status);
    failures_ = delivery == Delivery::kLater ? failures_ + 1 : 0;
    if (failures_ > 0) {
      next = Clock::now() + pause();
    } else if (with_status) {
      next = Clock::now() + options_.status_every;
    }
  }
  while (Clock::now() < deadline_) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
    }
    if (try_to_deliver(false) == Delivery::kLater) {
      std::this_thread::sleep_until(std::min(deadline_, Clock::now() + kLastPause));
    }
  }
}

/// Whatever is thrown, the job goes on.
ServiceLink::Delivery ServiceLink::try_to_deliver(bool with_status) {
  try {
    return deliver(with_status);
  } catch (const std::exception& problem) {
    say_once(problem.what());
    return Delivery::kLater;
  }
}

ServiceLink::Delivery ServiceLink::deliver(bool with_status) {
  ObservationBatch batch;
  batch.sender = sender_;
  std::map<std::string, JobStatus> statuses;
  if (with_status) {
    const std::lock_guard lock(jobs_mutex_);
    for (const auto& [name, job] : jobs_) statuses[name] = job.ask();
  }
  bool all = true;
  int64_t last_waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    size_t bytes = 0;
    for (const Waiting& one : waiting_) {
      bytes += one.bytes;
      all = batch.observations.size() < most_pieces_ && (bytes <= kMostBatchBytes || batch.observations.empty());
      if (!all) break;
      batch.observations.push_back(one.observation);
      last_waiting = one.observation.number;
    }
    // A status after what is left would have it taken for told.
    for (auto& [name, status] : statuses) {
      if (all && batch.observations.size() < most_pieces_)
        batch.observations.push_back({++last_number_, unix_ns(), name, options_.host, StatusTold{std::move(status)}});
    }
  }
  if (batch.observations.empty()) return Delivery::kDone;
  HttpCall call;
  call.method = "POST";
  call.target = "/api/v1/observations";
  call.token = options_.server.token;
  call.body = to_text(batch);
  call.is_given_up = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_ && Clock::now() >= deadline_;
  };
  const Result<HttpAnswer> answer = http_call(options_.server.url, call);
  if (!answer) {
    say_once(answer.error().message);
    return Delivery::kLater;
  }
  const bool never = answer->status == 400 || answer->status == 413;
  if (never && batch.observations.size() > 1) {  // only the piece that is to blame is to go
    most_pieces_ = batch.observations.size() / 2;
    return Delivery::kDone;
  }
  if (!never) most_pieces_ = std::min(kMostWaiting, 2 * most_pieces_);
  if (answer->status != 200 && !never) {
    say_once(problem_of(*answer));
    return Delivery::kLater;
  }
  if (never) {
    say(fmt::format("the server does not take a piece of what it is told: {}", problem_of(*answer)));
  } else {
    if (!said_.empty()) say_once("");
    take_orders(answer->body);
  }
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && waiting_.front().observation.number <= last_waiting) {
    waiting_bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
  }
  return Delivery::kDone;
}

void ServiceLink::take_orders(const std::string& answer) {
  const nlohmann::json json = json_in(answer);
  const nlohmann::json* orders = json.is_object() ? member(json, "orders") : nullptr;
  if (orders == nullptr || !orders->is_array()) return;
  for (const nlohmann::json& order : *orders) {
    if (!order.is_object()) continue;
    const int64_t id = integer(order, "id", 0);
    const std::string job = text(order, "job");
    if (id <= 0 || text(order, "host") != options_.host || orders_.contains(id)) continue;
    ControlRequest request{ControlRequest::Kind::kTrigger, std::nullopt, text(order, "reason")};
    const double window_s = number(order, "window_s", 0);
    if (window_s >= kLeastWindowS && window_s <= kMostWindowS) request.window_s = window_s;
    TriggerAnswer outcome;
    {
      const std::lock_guard lock(jobs_mutex_);
      const auto place = jobs_.find(job);
      if (place == jobs_.end()) continue;  // another process of this host watches it
      outcome = place->second.trigger(request);
    }
    orders_.insert(id);
    if (orders_.size() > kMostFollowed) orders_.erase(orders_.begin());
    tell(job, unix_ns(), OrderTold{id, outcome.window, outcome.refused});
  }
}

}  // namespace eroica
