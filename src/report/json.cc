#include "report/json.h"

#include <cmath>

#include <fmt/format.h>

#include "report/json_writer.h"

namespace eroica {
namespace {

/// Rounded so that the last bits of a sum never show.
double number(double value, double unit) {
  const double rounded = std::round(value * unit) / unit;
  return rounded == 0 ? 0.0 : rounded;  // never -0.0
}
double ms(double value) { return number(value, 1e3); }
double us(double value) { return number(value, 1e3); }
double share(double value) { return number(value, 1e4); }
double figure(double value) { return number(value, 1e4); }

std::optional<std::string_view> text_or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
std::optional<int64_t> known_or_null(int64_t value) { return value < 0 ? std::nullopt : std::optional(value); }
std::optional<int32_t> line_or_null(int32_t line) { return line <= 0 ? std::nullopt : std::optional(line); }
std::optional<double> number_or_null(const std::optional<double>& value, double (*round)(double)) {
  return value ? std::optional(round(*value)) : std::nullopt;
}

void add_per_class(JsonWriter& out, const PerClass& values, double (*round)(double)) {
  for (size_t c = 0; c < kTimeClassCount; ++c) {
    out.member(time_class_name(static_cast<TimeClass>(c)), round(values[c]));
  }
}

void add_durations(JsonWriter& out, const DurationQuantiles& quantiles) {
  out.member("duration_us", [&] {
    out.member("p50", us(quantiles.p50_us));
    out.member("p99", us(quantiles.p99_us));
    out.member("max", us(quantiles.max_us));
  });
}

void add_spread(JsonWriter& out, std::string_view name, const Spread& spread) {
  out.member(name, [&] {
    out.member("median", ms(spread.median));
    out.member("max", ms(spread.max));
    out.member("max_rank", spread.max_rank);
  });
}

void add_step(JsonWriter& out, const StepRow& row) {
  out.member("number", row.number);
  out.member("start_ms", ms(row.start_ms));
  out.member("duration_ms", ms(row.duration_ms));
  out.member("complete", row.complete);
  out.member("irregular", row.irregular);
  out.member("fetch_ms", ms(row.fetch_ms));
}

void add_steps(JsonWriter& out, const StepsSection& section) {
  const auto& times = section.times;
  out.member("source", section.source);
  out.member("note", section.note);
  out.member("count", section.count);
  out.member("complete", section.complete);
  const auto time = [&](double StepTimes::*which) { return times ? std::optional(ms(*times.*which)) : std::nullopt; };
  out.member("median_ms", time(&StepTimes::median_ms));
  out.member("p95_ms", time(&StepTimes::p95_ms));
  out.member("slowest_ms", time(&StepTimes::slowest_ms));
  const bool known_slowest = times && times->slowest_rank >= 0;
  out.member("slowest_step", known_slowest ? std::optional(times->slowest_step) : std::nullopt);
  out.member("slowest_rank", known_slowest ? std::optional(times->slowest_rank) : std::nullopt);
  out.array("ranks", section.ranks, [](JsonWriter& row, const RankSteps& rank) {
    row.member("rank", rank.rank);
    row.array("steps", rank.steps, add_step);
  });
}

void add_rank_time(JsonWriter& out, const RankTime& rank) {
  out.member("rank", rank.rank);
  out.member("host", text_or_null(rank.host));
  out.member("device", text_or_null(rank.device));
  out.member("per", rank.per_window ? "window" : "step");
  out.member("steps", rank.steps);
  out.member("window_ms", ms(rank.window_ms));
  if (const auto& times = rank.step_ms) {
    out.member("step_ms", [&] {
      out.member("median", ms(times->median_ms));
      out.member("p95", ms(times->p95_ms));
      out.member("slowest", ms(times->slowest_ms));
    });
  } else {
    out.member("step_ms", nullptr);
  }
  out.member("ms_per_step", [&] { add_per_class(out, rank.ms, ms); });
  out.member("share", [&] { add_per_class(out, rank.share, share); });
  out.member("fetch_ms_per_step", [&] {
    out.member("median", ms(rank.fetch_median_ms));
    out.member("max", ms(rank.fetch_max_ms));
  });
}

void add_time(JsonWriter& out, const TimeSection& section) {
  std::vector<std::string_view> classes;
  for (size_t c = 0; c < kTimeClassCount; ++c) classes.push_back(time_class_name(static_cast<TimeClass>(c)));
  out.member("classes", classes);
  out.member("over_ranks", [&] {
    for (size_t c = 0; c < kTimeClassCount; ++c) {
      const ClassSpread& spread = section.over_ranks[c];
      out.member(classes[c], [&] {
        out.member("median_ms_per_step", ms(spread.median_ms));
        out.member("min_ms_per_step", ms(spread.min_ms));
        out.member("max_ms_per_step", ms(spread.max_ms));
        out.member("max_rank", spread.max_rank);
        out.member("share", share(spread.share));
      });
    }
  });
  out.array("ranks", section.ranks, add_rank_time);
}

void add_issuer(JsonWriter& out, const IssuerRow& row) {
  out.member("name", row.name);
  out.member("file", text_or_null(row.file));
  out.member("line", line_or_null(row.line));
}

void add_timed_issuer(JsonWriter& out, const IssuerRow& row) {
  add_issuer(out, row);
  out.member("total_ms_per_step", ms(row.total_ms_per_step));
}

void add_function_on_rank(JsonWriter& out, const FunctionOnRank& row) {
  out.member("rank", row.rank);
  out.member("exposed_ms_per_step", ms(row.exposed_ms));
  out.member("total_ms_per_step", ms(row.total_ms));
  out.member("self_ms_per_step", ms(row.self_ms));
  out.member("executions", row.executions);
  out.member("p50_us", us(row.p50_us));
  out.member("p99_us", us(row.p99_us));
  if (row.step_exposed_ms.empty()) return;
  std::vector<double> rounded;
  rounded.reserve(row.step_exposed_ms.size());
  for (const double exposed_ms : row.step_exposed_ms) rounded.push_back(ms(exposed_ms));
  out.member("step_exposed_ms", rounded);
}

void add_hardware(JsonWriter& out, const HardwareRow& row) {
  out.member("rank", row.rank);
  out.member("entity", row.entity);
  out.member("metric", row.metric);
  out.member("unit", row.unit);
  out.member("mean", figure(row.mean));
  out.member("deviation", figure(row.deviation));
}

void add_function(JsonWriter& out, const FunctionRow& row, bool detail) {
  out.member("id", fmt::format("{:016x}", row.id));
  out.member("name", row.name);
  out.member("full", row.full.empty() ? row.name : row.full);
  out.member("kind", function_kind_name(row.kind));
  out.member("file", text_or_null(row.file));
  out.member("line", line_or_null(row.line));
  out.member("path", row.path);
  if (row.issuers.empty()) {
    out.member("issuer", nullptr);
  } else {
    out.member("issuer", [&] { add_issuer(out, row.issuers.front()); });
  }
  if (detail) out.array("issuers", row.issuers, add_timed_issuer);
  out.member("executions_per_step", figure(row.executions_per_step));
  add_spread(out, "exposed_ms_per_step", row.exposed_ms);
  add_spread(out, "total_ms_per_step", row.total_ms);
  add_spread(out, "self_ms_per_step", row.self_ms);
  out.member("share", share(row.share));
  add_durations(out, row.duration);
  out.array("ranks", row.ranks, add_function_on_rank);
  out.array("hardware", row.hardware, add_hardware);
}

void add_collective(JsonWriter& out, const CollectiveRow& row) {
  out.member("kind", row.kind);
  out.member("group", row.group);
  out.member("group_desc", row.group_desc);
  out.member("group_size", known_or_null(row.group_size));
  out.member("dtype", row.dtype);
  out.member("count_per_step", figure(row.count_per_step));
  out.member("bytes_per_step",
             row.gigabytes_per_s ? std::optional(number(row.bytes_per_step, 1)) : std::optional<double>());
  add_durations(out, row.duration);
  out.member("exposed_ms_per_step", ms(row.exposed_ms_per_step));
  out.member("gigabytes_per_s", number_or_null(row.gigabytes_per_s, figure));
  out.member("joined", [&] {
    const bool any = row.joined.by != AlignedBy::kNothing;
    out.member("by", aligned_by_name(row.joined.by));
    out.member("whole", any && row.joined.whole);
    out.member("instances", row.joined.instances);
    out.member("of", row.joined.of);
    out.member("transfer_ms_per_step",
               any ? std::optional(ms(row.joined.transfer_ms_per_step)) : std::optional<double>());
    out.member("error_us", us(row.joined.error_us));
    out.member("why", row.joined.why);
  });
  out.array("ranks", row.ranks, [](JsonWriter& on_rank, const CollectiveOnRank& rank) {
    on_rank.member("rank", rank.rank);
    on_rank.member("count", rank.count);
    on_rank.member("bytes", rank.bytes);
    on_rank.member("total_ms_per_step", ms(rank.total_ms_per_step));
    on_rank.member("p50_us", us(rank.p50_us));
    on_rank.member("late_ms_per_step", number_or_null(rank.late_ms_per_step, ms));
    on_rank.member("wait_ms_per_step", number_or_null(rank.wait_ms_per_step, ms));
  });
}

void add_import(JsonWriter& out, const ImportSection& import) {
  out.member("events", import.events);
  out.member("bytes", import.bytes);
  out.member("defects", [&] {
    for (size_t d = 0; d < kDefectCount; ++d) {
      out.member(defect_name(static_cast<Defect>(d)), import.defects.count[d]);
    }
  });
  out.member("categories", [&] {
    for (size_t c = 0; c < kCategoryCount; ++c) {
      out.member(category_name(static_cast<Category>(c)), [&] {
        out.member("count", import.category_count[c]);
        out.member("total_ns", import.category_ns[c]);
      });
    }
  });
}

void add_profile(JsonWriter& out, const Profile& profile) {
  out.member("steps", [&] { add_steps(out, profile.steps); });
  out.member("time", [&] { add_time(out, profile.time); });
  out.array("functions", profile.functions, [&](JsonWriter& of_function, const FunctionRow& row) {
    add_function(of_function, row, profile.function_detail);
  });
  out.member("functions_left_out", profile.functions_left_out);
  out.array("collectives", profile.collectives, add_collective);
  out.member("notes", profile.notes);
}

void add_budget(JsonWriter& out, const BudgetSection& budget) {
  out.member("coverage", number_or_null(budget.coverage, share));
  out.member("resolution", text_or_null(budget.resolution));
  out.member("interference_ms", number_or_null(budget.interference_ms, ms));
  out.member("yield", number_or_null(budget.yield, share));
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) out.member(name, figure(*value));
  };
  add("probe_us_per_step", budget.probe_us_per_step);
  add("probe_percent", budget.probe_percent);
  add("watcher_percent", budget.watcher_percent);
}

void add_timing(JsonWriter& out, const TimingSection& timing) {
  const auto add = [&](const char* name, int64_t unix_ns) {
    if (unix_ns > 0) out.member(name, unix_ns);
  };
  add("onset_unix_ns", timing.onset_unix_ns);
  add("detected_unix_ns", timing.detected_unix_ns);
  add("diagnosed_unix_ns", timing.diagnosed_unix_ns);
}

void add_what_if(JsonWriter& out, const WhatIf& what_if) {
  const bool known = what_if.step_ms_without_findings > 0;
  const auto if_known = [&](double value) { return known ? std::optional(value) : std::nullopt; };
  out.member("slowdown", if_known(share(what_if.slowdown)));
  out.member("slowdown_even", if_known(share(what_if.slowdown_even)));
  out.member("step_ms_without_findings", if_known(ms(what_if.step_ms_without_findings)));
  out.member("step_ms", what_if.step_ms > 0 ? if_known(ms(what_if.step_ms)) : std::nullopt);
}

void add_peer_group(JsonWriter& out, const PeerGroup& group) {
  out.member("name", group.name);
  out.member("why", group.why);
  out.member("ranks", group.ranks);
}

void add_evidence(JsonWriter& out, const Evidence& evidence) {
  out.member("what", evidence.what);
  out.member("value", figure(evidence.value));
  out.member("unit", evidence.unit);
  out.member("peers_median", number_or_null(evidence.peers_median, figure));
  out.member("peers_mad", number_or_null(evidence.peers_mad, figure));
  out.member("ranks", evidence.ranks);
}

void add_alternative(JsonWriter& out, const Alternative& alternative) {
  out.member("cause", alternative.cause);
  out.member("confidence", share(alternative.confidence));
  out.member("ruled_out_by", text_or_null(alternative.ruled_out_by));
}

void add_function_ref(JsonWriter& out, const FunctionRef& function) {
  out.member("name", function.name);
  out.member("kind", function.kind);
  out.member("file", text_or_null(function.file));
  out.member("line", line_or_null(function.line));
  out.member("path", function.path);
}

void add_diagnosis(JsonWriter& out, const Diagnosis& diagnosis) {
  out.member("cause", diagnosis.cause);
  out.member("title", diagnosis.title);
  out.member("summary", diagnosis.summary);
  out.member("scope", scope_name(diagnosis.scope));
  out.member("ranks", diagnosis.ranks);
  out.member("hosts", diagnosis.hosts);
  out.member("component", text_or_null(diagnosis.component));
  if (const auto& function = diagnosis.function) {
    out.member("function", [&] { add_function_ref(out, *function); });
  } else {
    out.member("function", nullptr);
  }
  out.member("confidence", share(diagnosis.confidence));
  out.member("confidence_why", diagnosis.confidence_why);
  out.member("lost_ms_per_step", ms(diagnosis.lost_ms_per_step));
  out.member("lost_gpu_seconds_per_hour", ms(diagnosis.lost_gpu_seconds_per_hour));
  out.member("marginal_ms_per_step", ms(diagnosis.marginal_ms_per_step));
  out.array("evidence", diagnosis.evidence, add_evidence);
  out.array("alternatives", diagnosis.alternatives, add_alternative);
  out.member("action", diagnosis.action);
}

void add_blocked(JsonWriter& out, const Blocked& blocked) {
  out.member("group", blocked.group);
  out.member("sequence", known_or_null(blocked.sequence));
  out.member("operation", blocked.operation);
  out.member("waiting", blocked.waiting);
  out.member("missing", blocked.missing);
  out.member("stacks", blocked.stacks);
  out.member("process_state", blocked.process_state);
}

void add_timeline(JsonWriter& out, const TimelineSection& timeline) {
  out.member("verdict", timeline.verdict);
  out.member("workers", timeline.workers);
  out.member("dp", timeline.dp);
  out.member("stages", timeline.stages);
  out.member("s", share(timeline.slowdown_even));
  out.member("m_w", share(timeline.explained_by_slowest_workers));
  out.member("m_s", share(timeline.explained_by_last_stage));
  out.member("mean_step_ms", ms(timeline.mean_step_ms));
  out.member("simulated_step_ms", ms(timeline.simulated_step_ms));
  out.member("ideal_step_ms", ms(timeline.ideal_step_ms));
}

void add_window(JsonWriter& out, const Document& document) {
  out.member("start_unix_ns", document.window.start_unix_ns);
  out.member("duration_ms", ms(document.window.duration_ms));
  out.member("steps", document.profile.steps.complete);
  if (const auto& times = document.profile.steps.times) {
    out.member("step_ms", [&] {
      out.member("median", ms(times->median_ms));
      out.member("p95", ms(times->p95_ms));
    });
  } else {
    out.member("step_ms", nullptr);
  }
}

void add_coverage(JsonWriter& out, const Coverage& coverage) {
  out.member("ranks_expected", known_or_null(coverage.ranks_expected));
  out.member("ranks_seen", coverage.ranks_seen);
  out.member("hosts_seen", coverage.hosts_seen);
  out.member("signals_missing", coverage.signals_missing);
}

void add_document(JsonWriter& out, const Document& document) {
  const Conclusion& conclusion = document.conclusion;
  out.member("schema", "eroica.diagnosis/1");
  out.member("job", [&] {
    out.member("id", text_or_null(document.job_id));
    out.member("world_size", known_or_null(document.world_size));
  });
  out.member("healthy", document.healthy);
  out.member("window", [&] { add_window(out, document); });
  out.member("coverage", [&] { add_coverage(out, document.coverage); });
  out.member("import", [&] { add_import(out, document.import); });
  out.member("profile", [&] { add_profile(out, document.profile); });
  out.member("budget", [&] { add_budget(out, document.budget); });
  out.member("what_if", [&] { add_what_if(out, conclusion.what_if); });
  out.array("peer_groups", conclusion.peer_groups, add_peer_group);
  out.member("victims", conclusion.victims);
  out.array("diagnoses", conclusion.diagnoses, add_diagnosis);
  out.array("hints", conclusion.hints, add_diagnosis);
  if (document.timing) out.member("timing", [&] { add_timing(out, *document.timing); });
  if (conclusion.blocked) out.member("blocked", [&] { add_blocked(out, *conclusion.blocked); });
  if (document.timeline) out.member("timeline", [&] { add_timeline(out, *document.timeline); });
}

}  // namespace

std::string write_json(const Document& document, int indent) {
  JsonWriter out(indent);
  add_document(out, document);
  return out.finish() + "\n";
}

}  // namespace eroica
