#include "report/timeline_document.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/hash.h"
#include "base/saturate.h"
#include "compare/timeline_graph.h"
#include "diagnose/timeline_conclusion.h"

namespace eroica {
namespace {

struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] int64_t length() const { return std::max<int64_t>(0, saturating_subtract(end, begin)); }
};

/// Disjoint stretches of time in order, and how much of them lies before any instant.
class Covered {
 public:
  /// Adds a stretch that begins no earlier than those before it; returns the part that is new.
  Stretch add(Stretch stretch) {
    if (!stretches_.empty()) stretch.begin = std::max(stretch.begin, stretches_.back().end);
    if (stretch.begin >= stretch.end) return {};
    before_.push_back(sum_);
    stretches_.push_back(stretch);
    sum_ = saturating_add(sum_, stretch.length());
    return stretch;
  }
  [[nodiscard]] int64_t before(int64_t instant) const {
    const auto next = std::ranges::upper_bound(stretches_, instant, {}, &Stretch::begin);
    if (next == stretches_.begin()) return 0;
    const auto last = static_cast<size_t>(next - stretches_.begin()) - 1;
    return saturating_add(before_[last],
                          Stretch{stretches_[last].begin, std::min(instant, stretches_[last].end)}.length());
  }
  [[nodiscard]] int64_t within(Stretch stretch) const {
    return saturating_subtract(before(stretch.end), before(stretch.begin));
  }
  [[nodiscard]] int64_t sum() const { return sum_; }

 private:
  std::vector<Stretch> stretches_;
  std::vector<int64_t> before_;
  int64_t sum_ = 0;
};

uint64_t name_hash(std::string_view name) { return hash_combine(hash_bytes("operation"), hash_bytes(name)); }

uint32_t in_us(int64_t ns) { return static_cast<uint32_t>(std::clamp<int64_t>(ns / 1000, 0, UINT32_MAX)); }

/// By index in OpTimeline::names.
std::vector<FunctionKind> kinds_of(const OpTimeline& timeline) {
  std::vector<FunctionKind> kinds;
  for (uint32_t name = 0; name < timeline.names.size(); ++name) {
    const std::string_view text = timeline.names.text(name);
    kinds.push_back(is_transfer(op_scope(op_type_of(text), text)) ? FunctionKind::kCollective : FunctionKind::kCompute);
  }
  return kinds;
}

/// Gathers one worker's pattern, step by step.
class WorkerPattern {
 public:
  WorkerPattern(const OpTimeline& timeline, const std::vector<FunctionKind>& kinds)
      : timeline_(timeline), kinds_(kinds) {}

  /// `rows`: all operations of a step, in order of their start.
  void add_step(std::span<const size_t> rows) {
    Stretch whole = stretch_of(rows.front());
    for (const size_t row : rows) whole.end = std::max(whole.end, stretch_of(row).end);
    Covered computing;
    for (const size_t row : rows) {
      if (is_transfer_of(row)) continue;
      count(row, computing.add(stretch_of(row)).length());
    }
    Covered moving;
    int64_t exposed_ns = 0;
    for (const size_t row : rows) {
      if (!is_transfer_of(row)) continue;
      const Stretch fresh = moving.add(stretch_of(row));
      const int64_t shown_ns = fresh.length() - computing.within(fresh);
      count(row, shown_ns);
      exposed_ns = saturating_add(exposed_ns, shown_ns);
    }

    StepPattern step;
    const int32_t number = timeline_.step[rows.front()];
    step.number = number >= 0 ? number : static_cast<int64_t>(result_.steps.size());
    step.start_ns = result_.window_ns;
    step.duration_ns = whole.length();
    step.budget[static_cast<size_t>(TimeClass::kCompute)] = computing.sum();
    step.budget[static_cast<size_t>(TimeClass::kCommunication)] = exposed_ns;
    step.budget[static_cast<size_t>(TimeClass::kIdle)] =
        std::max<int64_t>(0, step.duration_ns - saturating_add(computing.sum(), exposed_ns));
    for (size_t c = 0; c < kTimeClassCount; ++c) {
      result_.budget[c] = saturating_add(result_.budget[c], step.budget[c]);
    }
    result_.window_ns = saturating_add(result_.window_ns, step.duration_ns);
    result_.steps.push_back(step);
  }

  RankPattern finish() {
    for (auto& [name, function] : functions_) {
      function.pattern.self_ns = function.pattern.total_ns;
      function.exposed_ns.resize(result_.steps.size());
      for (const int64_t ns : function.exposed_ns) function.pattern.step_exposed_us.push_back(in_us(ns));
      result_.functions.push_back(std::move(function.pattern));
    }
    std::ranges::sort(result_.functions, [](const FunctionPattern& a, const FunctionPattern& b) {
      return std::tie(b.exposed_ns, b.total_ns, a.name) < std::tie(a.exposed_ns, a.total_ns, b.name);
    });
    return std::move(result_);
  }

 private:
  struct Function {
    FunctionPattern pattern;
    std::vector<int64_t> exposed_ns;  // by step
  };

  [[nodiscard]] Stretch stretch_of(size_t row) const {
    return {timeline_.start_ns[row], saturating_add(timeline_.start_ns[row], timeline_.duration_ns[row])};
  }
  [[nodiscard]] bool is_transfer_of(size_t row) const {
    return kinds_[timeline_.name[row]] == FunctionKind::kCollective;
  }

  /// `exposed_ns`: what it explains of the step.
  void count(size_t row, int64_t exposed_ns) {
    Function& function = functions_[timeline_.name[row]];
    FunctionPattern& pattern = function.pattern;
    const int64_t duration_ns = timeline_.duration_ns[row];
    pattern.name = name_hash(timeline_.names.text(timeline_.name[row]));
    pattern.kind = kinds_[timeline_.name[row]];
    ++pattern.executions;
    pattern.total_ns = saturating_add(pattern.total_ns, duration_ns);
    pattern.exposed_ns = saturating_add(pattern.exposed_ns, exposed_ns);
    pattern.longest_ns = std::max(pattern.longest_ns, duration_ns);
    pattern.durations.add(duration_ns);
    function.exposed_ns.resize(result_.steps.size() + 1);
    function.exposed_ns.back() = saturating_add(function.exposed_ns.back(), exposed_ns);
    ++result_.import.events;
  }

  const OpTimeline& timeline_;
  const std::vector<FunctionKind>& kinds_;
  RankPattern result_;
  std::map<uint32_t, Function> functions_;  // by index in OpTimeline::names
};

}  // namespace

std::vector<RankPattern> timeline_patterns(const OpTimeline& timeline, const std::string& job_id, NameTable& names) {
  const std::vector<FunctionKind> kinds = kinds_of(timeline);
  for (uint32_t name = 0; name < timeline.names.size(); ++name) {
    const std::string text(timeline.names.text(name));
    names[name_hash(text)] = {.text = text, .full = {}, .file = {}, .kind = kinds[name], .path = {}};
  }
  std::vector<size_t> rows(timeline.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  const auto step_of = [&](size_t row) { return std::tie(timeline.worker[row], timeline.step[row]); };
  std::ranges::stable_sort(rows, [&](size_t a, size_t b) {
    if (step_of(a) != step_of(b)) return step_of(a) < step_of(b);
    return timeline.start_ns[a] < timeline.start_ns[b];
  });

  const std::vector<int32_t> ranks = worker_ranks(timeline);
  std::vector<RankPattern> patterns;
  for (size_t at = 0; at < rows.size();) {
    const uint32_t worker = timeline.worker[rows[at]];
    WorkerPattern of(timeline, kinds);
    while (at < rows.size() && timeline.worker[rows[at]] == worker) {
      size_t end = at;
      while (end < rows.size() && step_of(rows[end]) == step_of(rows[at])) ++end;
      of.add_step(std::span(rows).subspan(at, end - at));
      at = end;
    }
    patterns.push_back(of.finish());
    RankPattern& pattern = patterns.back();
    pattern.rank = ranks[worker];
    pattern.job_id = job_id;
    pattern.world_size = static_cast<int32_t>(timeline.workers.size());
    pattern.step_source = StepSource::kMarker;
    pattern.step_note = "the timeline numbers its steps";
  }
  if (!patterns.empty()) {
    patterns.front().import.bytes = timeline.text_bytes;
    patterns.front().import.defects = timeline.defects;
  }
  return patterns;
}

Result<Document> build_timeline_document(const OpTimeline& timeline, const TimelineReport& report,
                                         const std::string& job_id, const DocumentOptions& options,
                                         Conclusion conclusion) {
  NameTable names;
  const std::vector<RankPattern> patterns = timeline_patterns(timeline, job_id, names);
  Result<Document> document = build_document(patterns, names, options, std::move(conclusion));
  if (!document) return document;
  document->coverage.signals_missing.clear();  // a timeline has none at all
  document->timeline = TimelineSection{
      .verdict = std::string(verdict_name(report.verdict)),
      .workers = report.workers,
      .dp = report.dp,
      .stages = report.stages,
      .slowdown_even = report.slowdown_even,
      .explained_by_slowest_workers = report.explained_by_slowest_workers,
      .explained_by_last_stage = report.explained_by_last_stage,
      .mean_step_ms = report.measured_step_s * 1e3,
      .simulated_step_ms = report.simulated_step_s * 1e3,
      .ideal_step_ms = report.ideal_step_s * 1e3,
  };
  return document;
}

}  // namespace eroica
