#include "agent/control_message.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/json_member.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostReason = 200;
constexpr size_t kMostRanksTold = 64;
constexpr size_t kMostTextTold = 2000;

constexpr std::array<std::pair<JobState, std::string_view>, 7> kStates = {{{JobState::kStarting, "starting"},
                                                                           {JobState::kLearning, "learning"},
                                                                           {JobState::kHealthy, "healthy"},
                                                                           {JobState::kSlow, "slow"},
                                                                           {JobState::kBlocked, "blocked"},
                                                                           {JobState::kEnded, "ended"},
                                                                           {JobState::kUnwatched, "unwatched"}}};
constexpr std::array<std::pair<WindowStage, std::string_view>, 6> kStages = {{{WindowStage::kNone, "none"},
                                                                              {WindowStage::kAsked, "asked"},
                                                                              {WindowStage::kArmed, "armed"},
                                                                              {WindowStage::kTracing, "tracing"},
                                                                              {WindowStage::kCollecting, "collecting"},
                                                                              {WindowStage::kAnalysing, "analysing"}}};

template <typename Value, size_t N>
std::string_view name_of(const std::array<std::pair<Value, std::string_view>, N>& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "";
}

template <typename Value, size_t N>
Value named(const std::array<std::pair<Value, std::string_view>, N>& names, const std::string& text) {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  return names[0].first;
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string cut(const std::string& text) { return text.substr(0, kMostTextTold); }

/// nullopt: no JSON object.
std::optional<nlohmann::json> object_of(std::string_view packet, size_t most) {
  if (packet.size() > most) return std::nullopt;
  nlohmann::json json = nlohmann::json::parse(packet, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

const nlohmann::json& part(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNothing = nlohmann::json::object();
  const nlohmann::json* value = member(object, key);
  return value != nullptr && value->is_object() ? *value : kNothing;
}

/// What is below 0 is not known.
Json known(double value) { return value < 0 ? Json(nullptr) : Json(value); }

}  // namespace

std::string_view job_state_name(JobState state) { return name_of(kStates, state); }
std::string_view window_stage_name(WindowStage stage) { return name_of(kStages, stage); }

std::string encode_request(const ControlRequest& request) {
  if (request.kind == ControlRequest::Kind::kStatus) return dumped({{"do", "status"}});
  Json json = {{"do", "trigger"}};
  if (request.window_s) json["window_s"] = *request.window_s;
  if (!request.reason.empty()) json["reason"] = request.reason.substr(0, kMostReason);
  return dumped(json);
}

std::optional<ControlRequest> decode_request(std::string_view packet) {
  const std::optional<nlohmann::json> json = object_of(packet, kMostRequestBytes);
  if (!json) return std::nullopt;
  const std::string what = text(*json, "do");
  ControlRequest request;
  if (what == "status") return request;
  if (what != "trigger") return std::nullopt;
  request.kind = ControlRequest::Kind::kTrigger;
  if (const nlohmann::json* length = member(*json, "window_s")) {
    if (!length->is_number()) return std::nullopt;
    const double value = length->get<double>();
    if (!(value >= kLeastWindowS && value <= kMostWindowS)) return std::nullopt;
    request.window_s = value;
  }
  request.reason = text(*json, "reason").substr(0, kMostReason);
  return request;
}

std::string encode_refusal(std::string_view why) { return dumped({{"ok", false}, {"error", why}}); }

std::string encode_answer(const TriggerAnswer& answer) {
  if (!answer.refused.empty()) return encode_refusal(answer.refused);
  return dumped({{"ok", true},
                 {"window", answer.window},
                 {"begins_in_s", answer.begins_in_s},
                 {"length_s", answer.length_s},
                 {"ranks", answer.ranks}});
}

std::optional<TriggerAnswer> decode_trigger_answer(std::string_view packet) {
  const std::optional<nlohmann::json> json = object_of(packet, kMostAnswerBytes);
  if (!json) return std::nullopt;
  TriggerAnswer answer;
  if (!flag(*json, "ok")) {
    answer.refused = text(*json, "error");
    if (answer.refused.empty()) return std::nullopt;
    return answer;
  }
  answer.window = text(*json, "window");
  if (answer.window.empty()) return std::nullopt;
  answer.begins_in_s = number(*json, "begins_in_s", 0);
  answer.length_s = number(*json, "length_s", 0);
  answer.ranks = integer(*json, "ranks", 0);
  return answer;
}

std::string encode_answer(const JobStatus& status) {
  Json json = {{"ok", true},
               {"job", status.job},
               {"watcher", status.watcher},
               {"watcher_pid", status.watcher_pid},
               {"folder", status.folder},
               {"since_unix_ns", status.since_unix_ns},
               {"state", job_state_name(status.state)},
               {"ranks", status.ranks},
               {"world_size", status.world_size},
               {"hosts", status.hosts},
               {"step", status.step},
               {"step_ms", status.step_ms},
               {"best_ms", status.best_ms},
               {"window", {{"id", status.window}, {"stage", window_stage_name(status.stage)}}},
               {"windows", status.windows},
               {"profiled_s", status.profiled_s},
               {"interference_ms", known(status.interference_ms)},
               {"probe_us_per_step", known(status.cost.probe_us_per_step)},
               {"probe_percent", known(status.cost.probe_percent)},
               {"watcher_percent", known(status.cost.watcher_percent)},
               {"dropped", status.dropped},
               {"refused", status.refused},
               {"diagnoses", status.diagnoses}};
  if (const WindowOutcome& last = status.last_window; !last.id.empty()) {
    json["last_window"] = {
        {"id", last.id}, {"text", cut(last.text)}, {"document", last.document}, {"claims", last.claims}};
  }
  if (const ToldDiagnosis& last = status.last_diagnosis; last.unix_ns > 0) {
    const size_t told = std::min(last.ranks.size(), kMostRanksTold);
    json["last_diagnosis"] = {{"unix_ns", last.unix_ns},
                              {"cause", last.cause},
                              {"title", cut(last.title)},
                              {"ranks", std::vector<int32_t>(last.ranks.begin(), last.ranks.begin() + told)}};
  }
  return dumped(json);
}

std::optional<JobStatus> decode_status(std::string_view packet) {
  const std::optional<nlohmann::json> json = object_of(packet, kMostAnswerBytes);
  if (!json || !flag(*json, "ok") || text(*json, "job").empty()) return std::nullopt;
  JobStatus status;
  status.job = text(*json, "job");
  status.watcher = text(*json, "watcher");
  status.watcher_pid = integer(*json, "watcher_pid", -1);
  status.folder = text(*json, "folder");
  status.since_unix_ns = integer(*json, "since_unix_ns", 0);
  status.state = named(kStates, text(*json, "state"));
  status.ranks = integer(*json, "ranks", 0);
  status.world_size = integer(*json, "world_size", -1);
  status.hosts = integer(*json, "hosts", 0);
  status.step = integer(*json, "step", 0);
  status.step_ms = number(*json, "step_ms", 0);
  status.best_ms = number(*json, "best_ms", 0);
  const nlohmann::json& window = part(*json, "window");
  status.window = text(window, "id");
  status.stage = named(kStages, text(window, "stage"));
  status.windows = integer(*json, "windows", 0);
  status.profiled_s = number(*json, "profiled_s", 0);
  status.interference_ms = number(*json, "interference_ms", -1);
  status.cost.probe_us_per_step = number(*json, "probe_us_per_step", -1);
  status.cost.probe_percent = number(*json, "probe_percent", -1);
  status.cost.watcher_percent = number(*json, "watcher_percent", -1);
  status.dropped = integer(*json, "dropped", 0);
  status.refused = integer(*json, "refused", 0);
  status.diagnoses = integer(*json, "diagnoses", 0);
  const nlohmann::json& outcome = part(*json, "last_window");
  status.last_window = {text(outcome, "id"), text(outcome, "text"), text(outcome, "document"), flag(outcome, "claims")};
  const nlohmann::json& told = part(*json, "last_diagnosis");
  status.last_diagnosis.unix_ns = integer(told, "unix_ns", 0);
  status.last_diagnosis.cause = text(told, "cause");
  status.last_diagnosis.title = text(told, "title");
  if (const nlohmann::json* ranks = member(told, "ranks"); ranks != nullptr && ranks->is_array()) {
    for (const nlohmann::json& rank : *ranks) {
      if (rank.is_number_unsigned() && rank.get<uint64_t>() <= 9'999'999) {
        status.last_diagnosis.ranks.push_back(rank.get<int32_t>());
      }
    }
  }
  return status;
}

}  // namespace eroica
