#include "web/courier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>

#include "web/secret.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kAlertHoldsNs = 300 * kSecondNs;
constexpr size_t kMostAtOnce = 20;
constexpr std::chrono::milliseconds kCallTime{5000};

bool is_accepted(const Result<HttpAnswer>& answer) { return answer && answer->status / 100 == 2; }

/// As RFC 3339 has it, in UTC.
std::string time_text(int64_t unix_ns) {
  const std::time_t seconds = unix_ns / kSecondNs;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

std::string webhook_signature(const std::string& secret, int64_t unix_s, const std::string& body) {
  return fmt::format("t={},v1={}", unix_s, hmac_sha256_hex(secret, fmt::format("{}.{}", unix_s, body)));
}

std::string alerts_json(const std::vector<Incident>& incidents, int64_t now_unix_ns) {
  Json alerts = Json::array();
  for (const Incident& one : incidents) {
    const int64_t ends_ns = one.closed_unix_ns > 0 ? one.closed_unix_ns : now_unix_ns + kAlertHoldsNs;
    // Labels name the alert, so they have what never changes.
    alerts.push_back({{"labels",
                       {{"alertname", "EroicaIncident"},
                        {"tenant", one.tenant},
                        {"job", one.job},
                        {"incident", fmt::to_string(one.id)}}},
                      {"annotations",
                       {{"summary", headline(one)},
                        {"kind", trouble_kind_name(one.kind)},
                        {"cause", main_cause(one)},
                        {"lost_gpu_s", fmt::format("{:.0f}", one.lost_gpu_s)}}},
                      {"startsAt", time_text(std::max(one.onset_unix_ns, int64_t{1}))},
                      {"endsAt", time_text(ends_ns)}});
  }
  return text_of(alerts);
}

Courier::Courier(Service& service, CourierOptions options, Call call, Say say)
    : service_(&service), options_(std::move(options)), call_(std::move(call)), say_(std::move(say)) {}

void Courier::start() {
  thread_ = std::thread([this] { run(); });
}

void Courier::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  came_.notify_one();
  thread_.join();
}

void Courier::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    try {
      deliver();
    } catch (const std::exception& problem) {
      say_(fmt::format("webhooks are told of nothing: {}; tried again", problem.what()));
    }
    lock.lock();
    came_.wait_for(lock, options_.round, [this] { return stopping_; });
  }
}

void Courier::deliver() {
  deliver_events();
  if (!options_.alertmanager.empty()) tell_alertmanager();
}

/// Says once what is wrong with a target, and once that it works again.
void Courier::note(const std::string& target, const Result<HttpAnswer>& answer) {
  std::string problem;
  if (!answer) {
    problem = answer.error().message;
  } else if (!is_accepted(answer)) {
    problem = fmt::format("{} answers {}", target, answer->status);
  }
  std::string& said = said_[target];
  if (problem == said) return;
  say_(problem.empty() ? fmt::format("{} is told again", target) : fmt::format("{}; tried again", problem));
  said = problem;
}

/// What is thrown is a failure like others.
Result<HttpAnswer> Courier::ask(const ServerUrl& server, HttpCall& call) {
  call.time = kCallTime;
  call.most_answer_bytes = 0;
  try {
    return call_(server, call);
  } catch (const std::exception& problem) {
    return Error{Error::Kind::kUnreadable, fmt::format("http://{}:{}: {}", server.host, server.port, problem.what())};
  }
}

void Courier::deliver_events() {
  std::set<std::string> failing;  // one that does not answer holds the others up once a round
  for (const StoredDelivery& one : service_->due_deliveries(kMostAtOnce)) {
    if (failing.contains(one.target)) continue;
    const Result<TargetUrl> url = parse_target_url(one.target);
    if (!url) {  // no longer a form that is known
      service_->delivered(one);
      continue;
    }
    HttpCall call;
    call.method = "POST";
    call.target = url->target;
    call.body = one.body;
    call.headers.emplace_back("Eroica-Delivery", fmt::to_string(one.id));
    if (!options_.secret.empty()) {
      call.headers.emplace_back("Eroica-Signature",
                                webhook_signature(options_.secret, service_->now() / kSecondNs, one.body));
    }
    const Result<HttpAnswer> answer = ask(url->server, call);
    note(one.target, answer);
    if (is_accepted(answer)) {
      service_->delivered(one);
    } else {
      service_->put_off(one);
      failing.insert(one.target);
    }
  }
}

void Courier::tell_alertmanager() {
  const int64_t now_ns = service_->now();
  if (now_ns - alerted_ns_ < options_.alerts_every_ns) return;
  alerted_ns_ = now_ns;
  const std::vector<Incident> incidents = service_->alerting(2 * kAlertHoldsNs);
  if (incidents.empty()) return;
  const Result<TargetUrl> url = parse_target_url(options_.alertmanager);
  if (!url) return;
  HttpCall call;
  call.method = "POST";
  call.target = (url->target == "/" ? "" : url->target) + "/api/v2/alerts";
  call.body = alerts_json(incidents, now_ns);
  const Result<HttpAnswer> answer = ask(url->server, call);
  note(options_.alertmanager, answer);
}

}  // namespace eroica
