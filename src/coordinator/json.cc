#include "coordinator/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "agent/control_message.h"
#include "agent/job_note.h"
#include "agent/json_member.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;
using In = nlohmann::json;

constexpr size_t kMostWord = 256;
constexpr size_t kMostText = 4000;
constexpr size_t kMostClaims = 16;
constexpr int64_t kMostNs = int64_t{8} * 1'000'000'000'000'000'000;  // the year 2223

Error invalid(std::string message) { return {Error::Kind::kInvalid, std::move(message)}; }

std::string short_text(const In& object, const char* key, size_t most = kMostText) {
  return text(object, key).substr(0, most);
}

double finite(const In& object, const char* key, double otherwise) {
  const double value = number(object, key, otherwise);
  return std::isfinite(value) ? std::clamp(value, -1e18, 1e18) : otherwise;
}

int64_t time_ns(const In& object, const char* key) {
  const int64_t value = integer(object, key, 0);
  return value > 0 && value < kMostNs ? value : 0;
}

int64_t count(const In& object, const char* key) { return std::max<int64_t>(0, integer(object, key, 0)); }

std::vector<std::string> texts(const In& object, const char* key, size_t most) {
  std::vector<std::string> list;
  const In* array = member(object, key);
  if (array == nullptr || !array->is_array()) return list;
  for (const In& item : *array) {
    if (list.size() == most) break;
    if (item.is_string()) list.push_back(item.get<std::string>().substr(0, kMostWord));
  }
  return list;
}

std::vector<int32_t> ranks_in(const In& object, const char* key) {
  std::vector<int32_t> list;
  const In* array = member(object, key);
  if (array == nullptr || !array->is_array()) return list;
  for (const In& item : *array) {
    if (list.size() == kMostListed) break;
    if (item.is_number_unsigned() && item.get<uint64_t>() <= 9'999'999) list.push_back(item.get<int32_t>());
  }
  return list;
}

/// nullopt: no object, or too deep.
std::optional<In> object_of(std::string_view bytes) {
  if (!is_shallow(bytes)) return std::nullopt;
  In json = In::parse(bytes, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

template <typename Value, size_t N>
std::optional<Value> named(const std::array<Value, N>& values, std::string_view (*name)(Value),
                           const std::string& text) {
  for (const Value value : values) {
    if (name(value) == text) return value;
  }
  return std::nullopt;
}

constexpr std::array kTroubleKinds = {TroubleKind::kSlow, TroubleKind::kBlocked, TroubleKind::kFound};
constexpr std::array kIncidentStates = {IncidentState::kOpen, IncidentState::kRecovering, IncidentState::kClosed};
constexpr std::array kResolutions = {Resolution::kNone, Resolution::kRecovered, Resolution::kEnded, Resolution::kLost};
constexpr std::array kVerdicts = {Verdict::kRight, Verdict::kWrong, Verdict::kOtherCause};

/// 0 is not known.
Json known_time(int64_t unix_ns) { return unix_ns > 0 ? Json(unix_ns) : Json(); }
Json known_ms(double ms) { return ms > 0 ? Json(ms) : Json(); }
Json not_negative(double value) { return value < 0 ? Json() : Json(value); }

// -- claims and documents

Json to_json(const Claim& claim) {
  return {{"cause", claim.cause},
          {"title", claim.title},
          {"summary", claim.summary},
          {"action", claim.action},
          {"confidence", claim.confidence},
          {"ranks", claim.ranks},
          {"hosts", claim.hosts},
          {"component", claim.component},
          {"lost_gpu_seconds_per_hour", claim.lost_gpu_seconds_per_hour}};
}

Claim claim_in(const In& json) {
  Claim claim;
  claim.cause = short_text(json, "cause", kMostWord);
  claim.title = short_text(json, "title");
  claim.summary = short_text(json, "summary");
  claim.action = short_text(json, "action");
  claim.confidence = std::clamp(finite(json, "confidence", 0), 0.0, 1.0);
  claim.ranks = ranks_in(json, "ranks");
  claim.hosts = texts(json, "hosts", kMostListed);
  claim.component = short_text(json, "component", kMostWord);
  claim.lost_gpu_seconds_per_hour = finite(json, "lost_gpu_seconds_per_hour", 0);
  return claim;
}

std::optional<DocumentTold> document_in(const In& json) {
  const In* claims = member(json, "diagnoses");
  if (text(json, "schema") != "eroica.diagnosis/1" || claims == nullptr || !claims->is_array()) return std::nullopt;
  DocumentTold told;
  told.json = json.dump(-1, ' ', false, In::error_handler_t::replace);
  for (const In& item : *claims) {
    if (told.claims.size() == kMostClaims) break;
    if (!item.is_object()) return std::nullopt;
    Claim claim = claim_in(item);
    if (claim.cause.empty()) return std::nullopt;
    told.claims.push_back(std::move(claim));
  }
  told.healthy = told.claims.empty();
  return told;
}

// -- observations

struct WhatOut {
  Json operator()(const StatusTold& told) const {
    return {{"kind", "status"}, {"status", Json::parse(encode_answer(told.status))}};
  }
  Json operator()(const TroubleTold& told) const {
    return {{"kind", trouble_kind_name(told.kind)},
            {"onset_unix_ns", told.onset_unix_ns},
            {"step", told.step},
            {"level_ms", told.level_ms},
            {"baseline_ms", told.baseline_ms}};
  }
  Json operator()(const RecoveryTold& told) const { return {{"kind", "recovered"}, {"step", told.step}}; }
  Json operator()(const WindowTold& told) const {
    return {{"kind", "window"},
            {"id", told.id},
            {"length_s", told.length_s},
            {"ranks", told.ranks},
            {"interference_ms", not_negative(told.interference_ms)}};
  }
  Json operator()(const DocumentTold& told) const {
    return {{"kind", "diagnosis"}, {"document", Json::parse(told.json, nullptr, false)}};
  }
  Json operator()(const OrderTold& told) const {
    return {{"kind", "order"}, {"id", told.id}, {"window", told.window}, {"refused", told.refused}};
  }
  Json operator()(const WatcherLeft&) const { return {{"kind", "left"}}; }
};

/// False: it is none that is known.
bool what_in(const In& json, Observation& observation) {
  const std::string kind = text(json, "kind");
  if (kind == "status") {
    const In* status = member(json, "status");
    if (status == nullptr) return false;
    std::optional<JobStatus> decoded = decode_status(status->dump(-1, ' ', false, In::error_handler_t::replace));
    if (!decoded) return false;
    decoded->ranks = std::clamp<int64_t>(decoded->ranks, 0, 1'000'000);
    observation.what = StatusTold{std::move(*decoded)};
  } else if (kind == "slow" || kind == "blocked") {
    TroubleTold told;
    told.kind = kind == "slow" ? TroubleKind::kSlow : TroubleKind::kBlocked;
    told.onset_unix_ns = time_ns(json, "onset_unix_ns");
    told.step = count(json, "step");
    told.level_ms = std::max(0.0, finite(json, "level_ms", 0));
    told.baseline_ms = std::max(0.0, finite(json, "baseline_ms", 0));
    observation.what = told;
  } else if (kind == "recovered") {
    observation.what = RecoveryTold{count(json, "step")};
  } else if (kind == "window") {
    WindowTold told;
    told.id = short_text(json, "id", kMostWord);
    told.length_s = std::max(0.0, finite(json, "length_s", 0));
    told.ranks = std::min<int64_t>(count(json, "ranks"), 1'000'000);
    told.interference_ms = finite(json, "interference_ms", -1);
    observation.what = std::move(told);
  } else if (kind == "diagnosis") {
    const In* document = member(json, "document");
    if (document == nullptr || !document->is_object()) return false;
    std::optional<DocumentTold> told = document_in(*document);
    if (!told) return false;
    observation.what = std::move(*told);
  } else if (kind == "order") {
    observation.what =
        OrderTold{integer(json, "id", 0), short_text(json, "window", kMostWord), short_text(json, "refused")};
  } else if (kind == "left") {
    observation.what = WatcherLeft{};
  } else {
    return false;
  }
  return true;
}

bool is_word(const std::string& word) {
  const auto printable = [](unsigned char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; };
  return !word.empty() && word.size() <= kMostWord && std::ranges::all_of(word, printable);
}

// -- incidents

IncidentWindow window_in(const In& json) {
  IncidentWindow one;
  one.host = short_text(json, "host", kMostWord);
  one.unix_ns = time_ns(json, "unix_ns");
  one.window = {short_text(json, "id", kMostWord), finite(json, "length_s", 0), count(json, "ranks"),
                finite(json, "interference_ms", -1)};
  return one;
}

template <typename Item, typename Read>
std::vector<Item> items(const In& json, const char* key, Read read) {
  std::vector<Item> list;
  const In* array = member(json, key);
  if (array == nullptr || !array->is_array()) return list;
  for (const In& item : *array) {
    if (item.is_object() && list.size() < kMostKept) list.push_back(read(item));
  }
  return list;
}

Json to_json(const Delays& delays) {
  if (delays.count == 0) return {{"known", 0}, {"median_s", nullptr}, {"p90_s", nullptr}};
  return {{"known", delays.count}, {"median_s", delays.median_s}, {"p90_s", delays.p90_s}};
}

}  // namespace

bool is_shallow(std::string_view bytes) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostJsonDepth) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string to_text(const ObservationBatch& batch) {
  Json list = Json::array();
  for (const Observation& one : batch.observations) {
    Json json = {{"number", one.number}, {"unix_ns", one.unix_ns}, {"job", one.job}, {"host", one.host}};
    json.update(std::visit(WhatOut{}, one.what));
    list.push_back(std::move(json));
  }
  return text_of({{"sender", batch.sender}, {"observations", std::move(list)}});
}

Result<ObservationBatch> parse_observations(std::string_view bytes) {
  const std::optional<In> json = object_of(bytes);
  if (!json) return invalid("expected an object of JSON");
  ObservationBatch batch;
  batch.sender = text(*json, "sender");
  if (!is_word(batch.sender)) return invalid("'sender' must be a word of at most 256 printable characters");
  const In* list = member(*json, "observations");
  if (list == nullptr || !list->is_array()) return invalid("'observations' must be a list");
  if (list->size() > kMostObservations) {
    return invalid(fmt::format("at most {} observations at once", kMostObservations));
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const In& item = (*list)[i];
    const auto wrong = [&](std::string_view why) { return invalid(fmt::format("observations[{}]: {}", i, why)); };
    if (!item.is_object()) return wrong("expected an object");
    Observation one;
    one.number = integer(item, "number", 0);
    one.unix_ns = time_ns(item, "unix_ns");
    one.job = text(item, "job");
    one.host = text(item, "host");
    if (one.number <= 0 || one.unix_ns <= 0) return wrong("'number' and 'unix_ns' must be whole and above 0");
    if (i > 0 && one.number <= batch.observations.back().number) return wrong("'number' must count up");
    if (!is_job_id(one.job)) return wrong("'job' is no id of a job");
    if (!is_word(one.host)) return wrong("'host' is no name of a host");
    if (!what_in(item, one)) return wrong("its 'kind' is not known, or something of it is missing");
    batch.observations.push_back(std::move(one));
  }
  return batch;
}

Json summary_json(const Incident& one) {
  return {{"id", one.id},
          {"tenant", one.tenant},
          {"job", one.job},
          {"headline", headline(one)},
          {"kind", trouble_kind_name(one.kind)},
          {"state", incident_state_name(one.state)},
          {"resolution", one.resolution == Resolution::kNone ? Json() : Json(resolution_name(one.resolution))},
          {"cause", main_cause(one).empty() ? Json() : Json(main_cause(one))},
          {"ranks", one.ranks},
          {"onset_step", one.onset_step},
          {"baseline_ms", known_ms(one.baseline_ms)},
          {"level_ms", known_ms(one.level_ms)},
          {"onset_unix_ns", known_time(one.onset_unix_ns)},
          {"detected_unix_ns", known_time(one.detected_unix_ns)},
          {"localised_unix_ns", known_time(one.localised_unix_ns)},
          {"acted_unix_ns", known_time(one.acted_unix_ns)},
          {"recovered_unix_ns", known_time(one.recovered_unix_ns)},
          {"closed_unix_ns", known_time(one.closed_unix_ns)},
          {"repeats", one.repeats},
          {"lost_gpu_s", one.lost_gpu_s},
          {"recovered_gpu_s", one.recovered_gpu_s},
          {"interference_ms", one.interference_ms},
          {"interference_gpu_s", one.interference_gpu_s},
          {"windows_count", one.windows_count},
          {"documents_count", one.documents_count}};
}

Json to_json(const Incident& one) {
  Json json = summary_json(one);
  json["told_unix_ns"] = known_time(one.told_unix_ns);
  Json windows = Json::array();
  for (const IncidentWindow& window : one.windows) {
    windows.push_back({{"host", window.host},
                       {"unix_ns", window.unix_ns},
                       {"id", window.window.id},
                       {"length_s", window.window.length_s},
                       {"ranks", window.window.ranks},
                       {"interference_ms", not_negative(window.window.interference_ms)}});
  }
  json["windows"] = std::move(windows);
  Json claims = Json::array();
  for (const ToldClaim& told : one.claims) {
    Json claim = to_json(told.claim);
    claim["first_unix_ns"] = told.first_unix_ns;
    claim["last_unix_ns"] = told.last_unix_ns;
    claim["times"] = told.times;
    claim["document"] = told.document;
    claims.push_back(std::move(claim));
  }
  json["claims"] = std::move(claims);
  json["claiming_hosts"] = one.claiming_hosts;
  return json;
}

Result<Incident> parse_incident(std::string_view bytes) {
  const std::optional<In> json = object_of(bytes);
  if (!json) return invalid("an incident is no object of JSON");
  Incident one;
  one.id = integer(*json, "id", 0);
  one.tenant = text(*json, "tenant");
  one.job = text(*json, "job");
  if (one.id <= 0 || one.job.empty()) return invalid("an incident has no id or no job");
  one.kind = named(kTroubleKinds, trouble_kind_name, text(*json, "kind")).value_or(TroubleKind::kSlow);
  one.state = named(kIncidentStates, incident_state_name, text(*json, "state")).value_or(IncidentState::kClosed);
  one.resolution = named(kResolutions, resolution_name, text(*json, "resolution")).value_or(Resolution::kNone);
  one.ranks = count(*json, "ranks");
  one.onset_step = count(*json, "onset_step");
  one.baseline_ms = finite(*json, "baseline_ms", 0);
  one.level_ms = finite(*json, "level_ms", 0);
  one.onset_unix_ns = time_ns(*json, "onset_unix_ns");
  one.detected_unix_ns = time_ns(*json, "detected_unix_ns");
  one.localised_unix_ns = time_ns(*json, "localised_unix_ns");
  one.acted_unix_ns = time_ns(*json, "acted_unix_ns");
  one.recovered_unix_ns = time_ns(*json, "recovered_unix_ns");
  one.closed_unix_ns = time_ns(*json, "closed_unix_ns");
  one.told_unix_ns = time_ns(*json, "told_unix_ns");
  one.repeats = count(*json, "repeats");
  one.lost_gpu_s = finite(*json, "lost_gpu_s", 0);
  one.recovered_gpu_s = finite(*json, "recovered_gpu_s", 0);
  one.interference_ms = finite(*json, "interference_ms", 0);
  one.interference_gpu_s = finite(*json, "interference_gpu_s", 0);
  one.windows_count = count(*json, "windows_count");
  one.documents_count = count(*json, "documents_count");
  one.windows = items<IncidentWindow>(*json, "windows", window_in);
  one.claims = items<ToldClaim>(*json, "claims", [](const In& item) {
    return ToldClaim{claim_in(item), time_ns(item, "first_unix_ns"), time_ns(item, "last_unix_ns"),
                     integer(item, "times", 1), integer(item, "document", 0)};
  });
  one.claiming_hosts = texts(*json, "claiming_hosts", kMostKept);
  return one;
}

Json to_json(const JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy, bool with_hosts) {
  JobStatus worst;  // of the job's pace, its slowest host speaks
  int64_t watching = 0;
  for (const auto& [name, host] : job.hosts) {
    if (!host.left) ++watching;
    worst.world_size = std::max(worst.world_size, host.status.world_size);
    worst.step = std::max(worst.step, host.status.step);
    worst.step_ms = std::max(worst.step_ms, host.status.step_ms);
    worst.best_ms = std::max(worst.best_ms, host.status.best_ms);
    worst.windows = std::max(worst.windows, host.status.windows);
    worst.profiled_s = std::max(worst.profiled_s, host.status.profiled_s);
    worst.interference_ms = std::max(worst.interference_ms, host.status.interference_ms);
    worst.cost.probe_us_per_step = std::max(worst.cost.probe_us_per_step, host.status.cost.probe_us_per_step);
    worst.cost.probe_percent = std::max(worst.cost.probe_percent, host.status.cost.probe_percent);
    worst.cost.watcher_percent = std::max(worst.cost.watcher_percent, host.status.cost.watcher_percent);
  }
  const bool has_incident = has_open_incident(job);
  Json json = {{"tenant", job.tenant},
               {"job", job.job},
               {"state", job_state_name(job_state(job, now_unix_ns, policy))},
               {"silent", is_silent(job, now_unix_ns, policy)},
               {"first_unix_ns", job.first_unix_ns},
               {"last_unix_ns", job.last_unix_ns},
               {"hosts", watching},
               {"ranks", ranks_of(job)},
               {"world_size", worst.world_size < 0 ? Json() : Json(worst.world_size)},
               {"step", worst.step},
               {"step_ms", known_ms(worst.step_ms)},
               {"usual_ms", known_ms(worst.best_ms)},
               {"windows", worst.windows},
               {"profiled_s", worst.profiled_s},
               {"interference_ms", not_negative(worst.interference_ms)},
               {"probe_us_per_step", not_negative(worst.cost.probe_us_per_step)},
               {"probe_percent", not_negative(worst.cost.probe_percent)},
               {"watcher_percent", not_negative(worst.cost.watcher_percent)},
               {"incident", has_incident ? Json(job.incident->id) : Json()}};
  if (!with_hosts) return json;
  Json hosts = Json::array();
  for (const auto& [name, host] : job.hosts) {
    hosts.push_back({{"host", name},
                     {"state", job_state_name(host.status.state)},
                     {"left", host.left},
                     {"last_unix_ns", host.unix_ns},
                     {"ranks", host.status.ranks},
                     {"step", host.status.step},
                     {"step_ms", known_ms(host.status.step_ms)},
                     {"usual_ms", known_ms(host.status.best_ms)}});
  }
  json["by_host"] = std::move(hosts);
  return json;
}

Json to_json(const Change& change) {
  return {{"id", change.id},
          {"unix_ns", change.unix_ns},
          {"who", change.who},
          {"what", change.what},
          {"jobs", change.jobs},
          {"url", change.url.empty() ? Json() : Json(change.url)},
          {"incident", change.incident > 0 ? Json(change.incident) : Json()}};
}

Json to_json(const NearChange& near) {
  Json json = to_json(near.change);
  json["before_onset_s"] = near.before_onset_s;
  return json;
}

Result<Change> parse_change(std::string_view bytes, int64_t now_unix_ns) {
  const std::optional<In> json = object_of(bytes);
  if (!json) return invalid("expected an object of JSON");
  Change change;
  change.who = short_text(*json, "who", kMostWord);
  change.what = short_text(*json, "what");
  if (change.what.empty()) return invalid("'what' must say what was changed");
  change.jobs = texts(*json, "jobs", kMostListed);
  if (!std::ranges::all_of(change.jobs, is_word))
    return invalid("'jobs' must be ids of jobs, or their beginnings with a *");
  change.url = short_text(*json, "url", 2000);
  if (!change.url.empty() && !change.url.starts_with("https://") && !change.url.starts_with("http://")) {
    return invalid("'url' must begin with https:// or http://");
  }
  change.incident = count(*json, "incident");
  change.unix_ns = time_ns(*json, "unix_ns");
  if (change.unix_ns == 0) change.unix_ns = now_unix_ns;
  return change;
}

Json to_json(const Feedback& feedback) {
  return {{"unix_ns", feedback.unix_ns},
          {"who", feedback.who},
          {"verdict", verdict_name(feedback.verdict)},
          {"cause", feedback.cause.empty() ? Json() : Json(feedback.cause)},
          {"text", feedback.text}};
}

Result<Feedback> parse_feedback(std::string_view bytes) {
  const std::optional<In> json = object_of(bytes);
  if (!json) return invalid("expected an object of JSON");
  const std::optional<Verdict> verdict = named(kVerdicts, verdict_name, text(*json, "verdict"));
  if (!verdict) return invalid("'verdict' must be right, wrong or other_cause");
  Feedback feedback;
  feedback.verdict = *verdict;
  feedback.cause = short_text(*json, "cause", kMostWord);
  feedback.text = short_text(*json, "text");
  return feedback;
}

Json to_json(const PeriodReport& report) {
  Json categories = Json::object();
  for (const auto& [name, counted] : report.categories) {
    categories[name] = {{"incidents", counted.incidents},
                        {"lost_gpu_s", counted.lost_gpu_s},
                        {"recovered_gpu_s", counted.recovered_gpu_s}};
  }
  Json weeks = Json::array();
  for (const Precision& week : report.over_time) {
    weeks.push_back({{"from_unix_ns", week.from_unix_ns},
                     {"incidents", week.incidents},
                     {"diagnosed", week.diagnosed},
                     {"judged", week.judged},
                     {"right", week.right}});
  }
  Json recurring = Json::array();
  for (const Recurring& part : report.recurring) {
    recurring.push_back({{"kind", part.kind},
                         {"name", part.name},
                         {"incidents", part.incidents},
                         {"last_unix_ns", part.last_unix_ns},
                         {"causes", part.causes}});
  }
  return {{"from_unix_ns", report.from_unix_ns},
          {"to_unix_ns", report.to_unix_ns},
          {"jobs", report.jobs},
          {"incidents", report.incidents},
          {"diagnosed", report.diagnosed},
          {"unresolved", report.unresolved},
          {"categories", std::move(categories)},
          {"judged", report.judged},
          {"right", report.right},
          {"other_cause", report.other_cause},
          {"false_alarms", report.false_alarms},
          {"false_alarms_gpu_s", report.false_alarms_gpu_s},
          {"interference_gpu_s", report.interference_gpu_s},
          {"lost_gpu_s", report.lost_gpu_s},
          {"recovered_gpu_s", report.recovered_gpu_s},
          {"to_detection", to_json(report.to_detection)},
          {"to_localisation", to_json(report.to_localisation)},
          {"to_fix", to_json(report.to_fix)},
          {"to_action", to_json(report.to_action)},
          {"over_time", std::move(weeks)},
          {"recurring", std::move(recurring)}};
}

Result<DocumentTold> parse_document(std::string_view bytes) {
  const std::optional<In> json = object_of(bytes);
  std::optional<DocumentTold> told = json ? document_in(*json) : std::nullopt;
  if (!told) return invalid("it is no diagnosis document (docs/diagnosis.schema.json)");
  return std::move(*told);
}

}  // namespace eroica
