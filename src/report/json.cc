#include "report/json.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

/// Rounded so that the last bits of a sum never show; what is no number is null.
Json number(double value, double unit) {
  if (!std::isfinite(value)) return nullptr;
  const double rounded = std::round(value * unit) / unit;
  return rounded == 0 ? 0.0 : rounded;  // never -0.0
}
Json ms(double value) { return number(value, 1e3); }
Json us(double value) { return number(value, 1e3); }
Json share(double value) { return number(value, 1e4); }
Json figure(double value) { return number(value, 1e4); }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json known_or_null(int64_t value) { return value < 0 ? Json(nullptr) : Json(value); }
Json line_or_null(int32_t line) { return line <= 0 ? Json(nullptr) : Json(line); }

template <typename Rows, typename ToJson>
Json array_of(const Rows& rows, ToJson to_json) {
  Json array = Json::array();
  for (const auto& row : rows) array.push_back(to_json(row));
  return array;
}

Json per_class(const PerClass& values, Json (*round)(double)) {
  Json object = Json::object();
  for (size_t c = 0; c < kTimeClassCount; ++c) {
    object[std::string(time_class_name(static_cast<TimeClass>(c)))] = round(values[c]);
  }
  return object;
}

Json durations(const DurationQuantiles& quantiles) {
  return {{"p50", us(quantiles.p50_us)}, {"p99", us(quantiles.p99_us)}, {"max", us(quantiles.max_us)}};
}

Json spread(const Spread& spread) {
  return {{"median", ms(spread.median)}, {"max", ms(spread.max)}, {"max_rank", spread.max_rank}};
}

Json step(const StepRow& row) {
  return {{"number", row.number},     {"start_ms", ms(row.start_ms)}, {"duration_ms", ms(row.duration_ms)},
          {"complete", row.complete}, {"irregular", row.irregular},   {"fetch_ms", ms(row.fetch_ms)}};
}

Json steps(const StepsSection& section) {
  const auto& times = section.times;
  const bool known_slowest = times && times->slowest_rank >= 0;
  return {{"source", section.source},
          {"note", section.note},
          {"count", section.count},
          {"complete", section.complete},
          {"median_ms", times ? ms(times->median_ms) : nullptr},
          {"p95_ms", times ? ms(times->p95_ms) : nullptr},
          {"slowest_ms", times ? ms(times->slowest_ms) : nullptr},
          {"slowest_step", known_slowest ? Json(times->slowest_step) : nullptr},
          {"slowest_rank", known_slowest ? Json(times->slowest_rank) : nullptr},
          {"ranks", array_of(section.ranks, [](const RankSteps& rank) {
             return Json{{"rank", rank.rank}, {"steps", array_of(rank.steps, step)}};
           })}};
}

Json rank_time(const RankTime& rank) {
  const auto& times = rank.step_ms;
  return {
      {"rank", rank.rank},
      {"host", text_or_null(rank.host)},
      {"device", text_or_null(rank.device)},
      {"per", rank.per_window ? "window" : "step"},
      {"steps", rank.steps},
      {"window_ms", ms(rank.window_ms)},
      {"step_ms",
       times ? Json{{"median", ms(times->median_ms)}, {"p95", ms(times->p95_ms)}, {"slowest", ms(times->slowest_ms)}}
             : Json(nullptr)},
      {"ms_per_step", per_class(rank.ms, ms)},
      {"share", per_class(rank.share, share)},
      {"fetch_ms_per_step", {{"median", ms(rank.fetch_median_ms)}, {"max", ms(rank.fetch_max_ms)}}}};
}

Json time(const TimeSection& section) {
  Json classes = Json::array();
  Json over_ranks = Json::object();
  for (size_t c = 0; c < kTimeClassCount; ++c) {
    const std::string name(time_class_name(static_cast<TimeClass>(c)));
    const ClassSpread& spread = section.over_ranks[c];
    classes.push_back(name);
    over_ranks[name] = {{"median_ms_per_step", ms(spread.median_ms)},
                        {"min_ms_per_step", ms(spread.min_ms)},
                        {"max_ms_per_step", ms(spread.max_ms)},
                        {"max_rank", spread.max_rank},
                        {"share", share(spread.share)}};
  }
  return {{"classes", classes}, {"over_ranks", over_ranks}, {"ranks", array_of(section.ranks, rank_time)}};
}

Json issuer(const IssuerRow& row) {
  return {{"name", row.name}, {"file", text_or_null(row.file)}, {"line", line_or_null(row.line)}};
}

Json timed_issuer(const IssuerRow& row) {
  Json json = issuer(row);
  json["total_ms_per_step"] = ms(row.total_ms_per_step);
  return json;
}

Json function_on_rank(const FunctionOnRank& row) {
  Json json{{"rank", row.rank},
            {"exposed_ms_per_step", ms(row.exposed_ms)},
            {"total_ms_per_step", ms(row.total_ms)},
            {"self_ms_per_step", ms(row.self_ms)},
            {"executions", row.executions},
            {"p50_us", us(row.p50_us)},
            {"p99_us", us(row.p99_us)}};
  if (!row.step_exposed_ms.empty()) json["step_exposed_ms"] = array_of(row.step_exposed_ms, ms);
  return json;
}

Json hardware(const HardwareRow& row) {
  return {{"rank", row.rank}, {"entity", row.entity},     {"metric", row.metric},
          {"unit", row.unit}, {"mean", figure(row.mean)}, {"deviation", figure(row.deviation)}};
}

Json function(const FunctionRow& row, bool detail) {
  Json json{{"id", fmt::format("{:016x}", row.id)},
            {"name", row.name},
            {"full", row.full.empty() ? row.name : row.full},
            {"kind", function_kind_name(row.kind)},
            {"file", text_or_null(row.file)},
            {"line", line_or_null(row.line)},
            {"path", row.path},
            {"issuer", row.issuers.empty() ? Json(nullptr) : issuer(row.issuers.front())}};
  if (detail) json["issuers"] = array_of(row.issuers, timed_issuer);
  json["executions_per_step"] = figure(row.executions_per_step);
  json["exposed_ms_per_step"] = spread(row.exposed_ms);
  json["total_ms_per_step"] = spread(row.total_ms);
  json["self_ms_per_step"] = spread(row.self_ms);
  json["share"] = share(row.share);
  json["duration_us"] = durations(row.duration);
  json["ranks"] = array_of(row.ranks, function_on_rank);
  json["hardware"] = array_of(row.hardware, hardware);
  return json;
}

Json collective(const CollectiveRow& row) {
  return {{"kind", row.kind},
          {"group", row.group},
          {"group_desc", row.group_desc},
          {"group_size", known_or_null(row.group_size)},
          {"dtype", row.dtype},
          {"count_per_step", figure(row.count_per_step)},
          {"bytes_per_step", row.gigabytes_per_s ? number(row.bytes_per_step, 1) : Json(nullptr)},
          {"duration_us", durations(row.duration)},
          {"exposed_ms_per_step", ms(row.exposed_ms_per_step)},
          {"gigabytes_per_s", row.gigabytes_per_s ? figure(*row.gigabytes_per_s) : Json(nullptr)},
          {"ranks", array_of(row.ranks, [](const CollectiveOnRank& rank) {
             return Json{{"rank", rank.rank},
                         {"count", rank.count},
                         {"bytes", rank.bytes},
                         {"total_ms_per_step", ms(rank.total_ms_per_step)},
                         {"p50_us", us(rank.p50_us)}};
           })}};
}

Json defects(const Defects& defects) {
  Json json = Json::object();
  for (size_t d = 0; d < kDefectCount; ++d) {
    json[std::string(defect_name(static_cast<Defect>(d)))] = defects.count[d];
  }
  return json;
}

Json categories(const ImportSection& import) {
  Json json = Json::object();
  for (size_t c = 0; c < kCategoryCount; ++c) {
    json[std::string(category_name(static_cast<Category>(c)))] = {{"count", import.category_count[c]},
                                                                  {"total_ns", import.category_ns[c]}};
  }
  return json;
}

Json profile(const Profile& profile) {
  return {{"steps", steps(profile.steps)},
          {"time", time(profile.time)},
          {"functions",
           array_of(profile.functions, [&](const FunctionRow& row) { return function(row, profile.function_detail); })},
          {"functions_left_out", profile.functions_left_out},
          {"collectives", array_of(profile.collectives, collective)},
          {"notes", profile.notes}};
}

Json number_or_null(const std::optional<double>& value, Json (*round)(double)) {
  return value ? round(*value) : Json(nullptr);
}

Json budget(const BudgetSection& budget) {
  Json json = {{"coverage", number_or_null(budget.coverage, share)},
               {"resolution", text_or_null(budget.resolution)},
               {"interference_ms", number_or_null(budget.interference_ms, ms)},
               {"yield", number_or_null(budget.yield, share)}};
  const auto add = [&](const char* key, const std::optional<double>& value) {
    if (value) json[key] = figure(*value);
  };
  add("probe_us_per_step", budget.probe_us_per_step);
  add("probe_percent", budget.probe_percent);
  add("watcher_percent", budget.watcher_percent);
  return json;
}

Json timing(const TimingSection& timing) {
  Json json = Json::object();
  const auto add = [&](const char* key, int64_t unix_ns) {
    if (unix_ns > 0) json[key] = unix_ns;
  };
  add("onset_unix_ns", timing.onset_unix_ns);
  add("detected_unix_ns", timing.detected_unix_ns);
  add("diagnosed_unix_ns", timing.diagnosed_unix_ns);
  return json;
}

Json what_if(const WhatIf& what_if) {
  const bool known = what_if.step_ms_without_findings > 0;
  return {{"slowdown", known ? share(what_if.slowdown) : Json(nullptr)},
          {"slowdown_even", known ? share(what_if.slowdown_even) : Json(nullptr)},
          {"step_ms_without_findings", known ? ms(what_if.step_ms_without_findings) : Json(nullptr)},
          {"step_ms", known && what_if.step_ms > 0 ? ms(what_if.step_ms) : Json(nullptr)}};
}

Json peer_group(const PeerGroup& group) { return {{"name", group.name}, {"why", group.why}, {"ranks", group.ranks}}; }

Json evidence(const Evidence& evidence) {
  return {{"what", evidence.what},
          {"value", figure(evidence.value)},
          {"unit", evidence.unit},
          {"peers_median", number_or_null(evidence.peers_median, figure)},
          {"peers_mad", number_or_null(evidence.peers_mad, figure)},
          {"ranks", evidence.ranks}};
}

Json alternative(const Alternative& alternative) {
  return {{"cause", alternative.cause},
          {"confidence", share(alternative.confidence)},
          {"ruled_out_by", text_or_null(alternative.ruled_out_by)}};
}

Json function_ref(const FunctionRef& function) {
  return {{"name", function.name},
          {"kind", function.kind},
          {"file", text_or_null(function.file)},
          {"line", line_or_null(function.line)},
          {"path", function.path}};
}

Json diagnosis(const Diagnosis& diagnosis) {
  return {{"cause", diagnosis.cause},
          {"title", diagnosis.title},
          {"summary", diagnosis.summary},
          {"scope", scope_name(diagnosis.scope)},
          {"ranks", diagnosis.ranks},
          {"hosts", diagnosis.hosts},
          {"component", text_or_null(diagnosis.component)},
          {"function", diagnosis.function ? function_ref(*diagnosis.function) : Json(nullptr)},
          {"confidence", share(diagnosis.confidence)},
          {"confidence_why", diagnosis.confidence_why},
          {"lost_ms_per_step", ms(diagnosis.lost_ms_per_step)},
          {"lost_gpu_seconds_per_hour", ms(diagnosis.lost_gpu_seconds_per_hour)},
          {"marginal_ms_per_step", ms(diagnosis.marginal_ms_per_step)},
          {"evidence", array_of(diagnosis.evidence, evidence)},
          {"alternatives", array_of(diagnosis.alternatives, alternative)},
          {"action", diagnosis.action}};
}

Json blocked(const Blocked& blocked) {
  return {{"group", blocked.group},
          {"sequence", known_or_null(blocked.sequence)},
          {"operation", blocked.operation},
          {"waiting", blocked.waiting},
          {"missing", blocked.missing},
          {"stacks", blocked.stacks},
          {"process_state", blocked.process_state}};
}

Json timeline(const TimelineSection& timeline) {
  return {{"verdict", timeline.verdict},
          {"workers", timeline.workers},
          {"dp", timeline.dp},
          {"stages", timeline.stages},
          {"s", share(timeline.slowdown_even)},
          {"m_w", share(timeline.explained_by_slowest_workers)},
          {"m_s", share(timeline.explained_by_last_stage)},
          {"mean_step_ms", ms(timeline.mean_step_ms)},
          {"simulated_step_ms", ms(timeline.simulated_step_ms)},
          {"ideal_step_ms", ms(timeline.ideal_step_ms)}};
}

Json to_json(const Document& document) {
  const auto& times = document.profile.steps.times;
  const Conclusion& conclusion = document.conclusion;
  Json json{{"schema", "eroica.diagnosis/1"},
            {"job", {{"id", text_or_null(document.job_id)}, {"world_size", known_or_null(document.world_size)}}},
            {"healthy", document.healthy},
            {"window",
             {{"start_unix_ns", document.window.start_unix_ns},
              {"duration_ms", ms(document.window.duration_ms)},
              {"steps", document.profile.steps.complete},
              {"step_ms", times ? Json{{"median", ms(times->median_ms)}, {"p95", ms(times->p95_ms)}} : Json(nullptr)}}},
            {"coverage",
             {{"ranks_expected", known_or_null(document.coverage.ranks_expected)},
              {"ranks_seen", document.coverage.ranks_seen},
              {"hosts_seen", document.coverage.hosts_seen},
              {"signals_missing", document.coverage.signals_missing}}},
            {"import",
             {{"events", document.import.events},
              {"bytes", document.import.bytes},
              {"defects", defects(document.import.defects)},
              {"categories", categories(document.import)}}},
            {"profile", profile(document.profile)},
            {"budget", budget(document.budget)},
            {"what_if", what_if(conclusion.what_if)},
            {"peer_groups", array_of(conclusion.peer_groups, peer_group)},
            {"victims", conclusion.victims},
            {"diagnoses", array_of(conclusion.diagnoses, diagnosis)},
            {"hints", array_of(conclusion.hints, diagnosis)}};
  if (document.timing) json["timing"] = timing(*document.timing);
  if (conclusion.blocked) json["blocked"] = blocked(*conclusion.blocked);
  if (document.timeline) json["timeline"] = timeline(*document.timeline);
  return json;
}

}  // namespace

std::string write_json(const Document& document, int indent) {
  return to_json(document).dump(indent, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace eroica
