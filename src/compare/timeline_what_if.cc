#include "compare/timeline_what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "base/robust.h"
#include "base/saturate.h"
#include "compare/timeline_durations.h"
#include "compare/timeline_graph.h"

namespace eroica {
namespace {

constexpr double kSecond = 1e-9;          // of a nanosecond
constexpr double kSlowestWorkers = 0.03;  // the literature's M_W
constexpr double kLeastWorkerExcess = 0.04;
constexpr double kLeastStageExcess = 0.05;
constexpr double kWorkerGain = 0.02;  // shares of the step
constexpr double kStageGain = 0.05;
constexpr double kSequenceGain = 0.04;
constexpr double kCommunicationGain = 0.03;
constexpr double kWorthSaying = 0.01;
constexpr double kLeastCorrelation = 0.5;
constexpr double kLeastVariation = 0.02;
constexpr double kCulpritShare = 0.25;  // of what the costliest of several slow workers costs
constexpr size_t kMostLinks = 64;

struct Context {
  const OpTimeline& timeline;
  const TimelineGraph& graph;
  TimelineReport& report;
  [[nodiscard]] double step_s(std::span<const double> duration_ns) const {
    return simulate_mean(graph.graph, duration_ns) * kSecond;
  }
  [[nodiscard]] double share(double gain_s) const {
    return report.simulated_step_s > 0 ? gain_s / report.simulated_step_s : 0;
  }
  [[nodiscard]] double explained(double step_s) const {
    const double excess_s = report.simulated_step_s - report.ideal_step_s;
    return excess_s > 0 ? (report.simulated_step_s - step_s) / excess_s : 0;
  }
};

void count_sizes(Context& to) {
  TimelineReport& report = to.report;
  std::set<int32_t> dps;
  std::set<int32_t> stages;
  for (const TimelineWorker& worker : to.timeline.workers) {
    dps.insert(worker.dp);
    stages.insert(worker.stage);
  }
  report.dp = dps.size();
  report.stages = stages.size();
  report.workers = to.timeline.workers.size();
  report.steps = to.graph.steps.size();
  report.operations = to.timeline.size();
  report.unmatched = to.graph.unmatched;
  report.broken_edges = to.graph.graph.broken_edges;

  std::set<int32_t> chunks;
  std::map<std::pair<int32_t, uint32_t>, size_t> forwards;
  std::map<std::pair<int32_t, uint32_t>, std::pair<int64_t, int64_t>> spans;
  for (size_t row = 0; row < to.timeline.size(); ++row) {
    const std::pair place(to.timeline.step[row], to.timeline.worker[row]);
    const int64_t start_ns = to.timeline.start_ns[row];
    const int64_t end_ns = saturating_add(start_ns, to.timeline.duration_ns[row]);
    const auto [span, is_new] = spans.try_emplace(place, start_ns, end_ns);
    if (!is_new) {
      span->second = {std::min(span->second.first, start_ns), std::max(span->second.second, end_ns)};
    }
    if (to.timeline.type[row] != OpType::kForwardCompute) continue;
    if (to.timeline.chunk[row] >= 0) chunks.insert(to.timeline.chunk[row]);
    report.micro_batches = std::max(report.micro_batches, ++forwards[place]);
  }
  report.chunks = std::max<size_t>(chunks.size(), 1);
  report.micro_batches /= report.chunks;

  std::map<int32_t, double> longest_s;
  for (const auto& [place, span] : spans) {
    const double span_s = static_cast<double>(saturating_subtract(span.second, span.first)) * kSecond;
    longest_s[place.first] = std::max(longest_s[place.first], span_s);
  }
  for (const auto& [step, seconds] : longest_s) report.measured_step_s += seconds;
  report.measured_step_s /= static_cast<double>(std::max<size_t>(longest_s.size(), 1));
}

/// Each part alone as it was, and each part alone ideal.
std::vector<PartAttribution> attribute(const Context& to, const std::vector<double>& even_ns,
                                       const std::vector<uint32_t>& part, size_t parts) {
  const auto count = static_cast<uint32_t>(parts);
  const std::vector<double> alone_ns = simulate_each(to.graph.graph, even_ns, to.graph.own_ns, part, count);
  const std::vector<double> fixed_ns = simulate_each(to.graph.graph, to.graph.own_ns, even_ns, part, count);
  std::vector<PartAttribution> result;
  for (size_t i = 0; i < parts; ++i) {
    const double alone_s = alone_ns[i] * kSecond;
    result.push_back({.slowdown_alone = to.report.ideal_step_s > 0 ? alone_s / to.report.ideal_step_s : 1,
                      .explained = to.explained(fixed_ns[i] * kSecond)});
  }
  return result;
}

/// The step when several workers (or stages) take other durations together.
double step_with(const Context& to, const std::vector<double>& replaced_ns, const std::vector<uint32_t>& part,
                 std::span<const uint32_t> parts) {
  const std::set<uint32_t> chosen(parts.begin(), parts.end());
  std::vector<double> duration_ns = to.graph.own_ns;
  for (size_t place = 0; place < duration_ns.size(); ++place) {
    if (chosen.contains(part[place])) duration_ns[place] = replaced_ns[place];
  }
  return to.step_s(duration_ns);
}

void attribute_workers(Context& to, const std::vector<double>& even_ns, const ComputeRatios& ratios,
                       const std::vector<double>& at_peers_ns) {
  const size_t workers = to.timeline.workers.size();
  const auto parts = attribute(to, even_ns, to.graph.worker, workers);
  const auto gains_ns =
      simulate_each(to.graph.graph, to.graph.own_ns, at_peers_ns, to.graph.worker, static_cast<uint32_t>(workers));
  std::vector<uint32_t> slowest(workers);
  std::iota(slowest.begin(), slowest.end(), 0U);
  std::ranges::stable_sort(slowest, std::greater(), [&parts](uint32_t i) { return parts[i].slowdown_alone; });
  slowest.resize(static_cast<size_t>(std::ceil(kSlowestWorkers * static_cast<double>(workers))));
  for (uint32_t worker = 0; worker < workers; ++worker) {
    to.report.by_worker.push_back({.worker = worker,
                                   .who = to.timeline.workers[worker],
                                   .even = parts[worker],
                                   .compute_s = ratios.worker_s[worker],
                                   .compute_ratio = ratios.worker_ratio[worker],
                                   .gain_s = to.report.simulated_step_s - gains_ns[worker] * kSecond});
  }
  to.report.explained_by_slowest_workers = to.explained(step_with(to, even_ns, to.graph.worker, slowest));
  to.report.slowest_workers = slowest;
}

void attribute_stages(Context& to, const std::vector<double>& even_ns, const ComputeRatios& ratios) {
  const std::vector<uint32_t>& stage_of = to.graph.stage;
  std::set<int32_t> numbers;
  for (const TimelineWorker& worker : to.timeline.workers) numbers.insert(worker.stage);
  const auto parts = attribute(to, even_ns, stage_of, numbers.size());
  const auto gains_ns =
      simulate_each(to.graph.graph, to.graph.own_ns, scaled_durations(to.graph, stage_of, ratios.stage_ratio), stage_of,
                    static_cast<uint32_t>(numbers.size()));
  size_t i = 0;
  for (const int32_t stage : numbers) {
    to.report.by_stage.push_back({.stage = stage,
                                  .even = parts[i],
                                  .compute_s = ratios.stage_s[i],
                                  .compute_ratio = ratios.stage_ratio[i],
                                  .gain_s = to.report.simulated_step_s - gains_ns[i] * kSecond});
    ++i;
  }
  if (!to.report.by_stage.empty()) to.report.explained_by_last_stage = to.report.by_stage.back().even.explained;
}

void attribute_kinds(Context& to, const std::vector<double>& even_ns) {
  std::map<std::string, uint32_t> numbers;
  for (const uint32_t kind : to.graph.kind) numbers.try_emplace(std::string(to.timeline.names.text(kind)), kind);
  std::vector<uint32_t> number_of_kind(to.timeline.names.size(), 0);
  uint32_t next = 0;
  for (const auto& [name, kind] : numbers) number_of_kind[kind] = next++;
  std::vector<uint32_t> part;
  std::vector<std::vector<double>> values(numbers.size());
  part.reserve(to.graph.kind.size());
  std::vector<bool> transfer(numbers.size(), false);
  for (size_t place = 0; place < to.graph.kind.size(); ++place) {
    part.push_back(number_of_kind[to.graph.kind[place]]);
    values[part.back()].push_back(to.graph.own_ns[place]);
    transfer[part.back()] = is_transfer(to.graph.scope[place]);
  }
  const auto parts = attribute(to, even_ns, part, numbers.size());
  size_t i = 0;
  for (const auto& [name, kind] : numbers) {
    const double sum_ns = std::accumulate(values[i].begin(), values[i].end(), 0.0);
    to.report.by_kind.push_back({.name = name,
                                 .transfer = transfer[i],
                                 .operations = values[i].size(),
                                 .mean_s = sum_ns / static_cast<double>(values[i].size()) * kSecond,
                                 .median_s = median(values[i]) * kSecond,
                                 .even = parts[i]});
    ++i;
  }
}

std::string worker_words(const TimelineWorker& who) {
  if (who.rank >= 0) return fmt::format("rank {} (stage {}, dp {})", who.rank, who.stage, who.dp);
  return fmt::format("stage {}, dp {}", who.stage, who.dp);
}

/// Workers clearly slower than their peers, and what they cost together.
void find_slow_workers(Context& to, const std::vector<double>& at_peers_ns) {
  std::vector<double> excess;
  excess.reserve(to.report.by_worker.size());
  for (const WorkerAttribution& worker : to.report.by_worker) excess.push_back(worker.compute_ratio - 1);
  const double least = std::max(kLeastWorkerExcess, 6 * 1.4826 * median_absolute_deviation(excess));
  std::vector<uint32_t> slow;
  for (const WorkerAttribution& worker : to.report.by_worker) {
    if (worker.compute_ratio > 1 + least) slow.push_back(worker.worker);
  }
  if (slow.empty()) return;

  // Of several, those stay whose return alone would make the repaired job slow again.
  std::vector<double> repaired_ns = to.graph.own_ns;
  const std::set<uint32_t> chosen(slow.begin(), slow.end());
  for (size_t place = 0; place < repaired_ns.size(); ++place) {
    if (chosen.contains(to.graph.worker[place])) repaired_ns[place] = at_peers_ns[place];
  }
  const double repaired_s = to.step_s(repaired_ns);
  const auto back_ns = simulate_each(to.graph.graph, repaired_ns, to.graph.own_ns, to.graph.worker,
                                     static_cast<uint32_t>(to.report.by_worker.size()));
  const auto cost_s = [&](uint32_t worker) { return back_ns[worker] * kSecond - repaired_s; };
  double most_s = 0;
  for (const uint32_t worker : slow) most_s = std::max(most_s, cost_s(worker));
  std::erase_if(slow, [&](uint32_t worker) { return cost_s(worker) < kCulpritShare * most_s; });
  std::ranges::stable_sort(slow, std::greater(), cost_s);
  const double gain_s = to.report.simulated_step_s - step_with(to, at_peers_ns, to.graph.worker, slow);

  double ratio = 1;
  for (const uint32_t worker : slow) ratio = std::max(ratio, to.report.by_worker[worker].compute_ratio);
  TimelineFinding finding{.what = TimelineVerdict::kSlowWorker,
                          .gain_s = gain_s,
                          .gain_share = to.share(gain_s),
                          .claimed = to.share(gain_s) >= kWorkerGain,
                          .ratio = ratio,
                          .workers = slow,
                          .links = {},
                          .why = {}};
  finding.why = fmt::format("{}{} computes {:.0f} % longer than the same stage's other data-parallel ranks",
                            worker_words(to.timeline.workers[slow.front()]),
                            slow.size() > 1 ? fmt::format(" (and {} more)", slow.size() - 1) : "", (ratio - 1) * 100);
  to.report.findings.push_back(std::move(finding));
}

void find_long_stage(Context& to) {
  const auto longest = std::ranges::max_element(
      to.report.by_stage, {}, [](const StageAttribution& stage) { return stage.compute_ratio > 1 ? stage.gain_s : 0; });
  if (longest == to.report.by_stage.end() || longest->compute_ratio < 1 + kLeastStageExcess) return;
  const bool last = to.report.by_stage.size() > 1 && std::next(longest) == to.report.by_stage.end();
  to.report.findings.push_back(
      {.what = last ? TimelineVerdict::kLastStageLong : TimelineVerdict::kStageLong,
       .gain_s = longest->gain_s,
       .gain_share = to.share(longest->gain_s),
       .claimed = to.share(longest->gain_s) >= kStageGain,
       .stage = longest->stage,
       .ratio = longest->compute_ratio,
       .workers = {},
       .links = {},
       .why = fmt::format("stage {} of {} computes {:.2f} times as long as the others on all its data-parallel ranks",
                          longest->stage, to.report.by_stage.size(), longest->compute_ratio)});
}

void find_sequence_imbalance(Context& to) {
  const MicroBatchVariation variation = micro_batch_variation(to.timeline, to.graph);
  TimelineReport& report = to.report;
  report.forward_backward_correlation = variation.correlation;
  report.compute_variation = variation.variation;
  report.smooth_gain_s = report.simulated_step_s - to.step_s(smooth_durations(to.timeline, to.graph));
  const bool uneven = variation.correlation >= kLeastCorrelation && variation.variation >= kLeastVariation;
  if (!uneven) return;
  report.findings.push_back(
      {.what = TimelineVerdict::kSequenceImbalance,
       .gain_s = report.smooth_gain_s,
       .gain_share = to.share(report.smooth_gain_s),
       .claimed = to.share(report.smooth_gain_s) >= kSequenceGain,
       .ratio = 1 + variation.variation,
       .workers = {},
       .links = {},
       .why = fmt::format("micro-batches vary by {:.0f} % on most workers, forward and backward together "
                          "(correlation {:.2f})",
                          variation.variation * 100, variation.correlation)});
}

void find_slow_communication(Context& to) {
  LinkDurations links = link_durations(to.timeline, to.graph);
  if (links.slow.empty()) return;
  const double gain_s = to.report.simulated_step_s - to.step_s(links.usual_ns);
  if (links.slow.size() > kMostLinks) links.slow.resize(kMostLinks);
  const SlowLink& worst = links.slow.front();
  std::string where = worst.stage >= 0 ? fmt::format(" of stage {}", worst.stage) : "";
  if (worst.peer_stage >= 0) where = fmt::format(" between stages {} and {}", worst.stage, worst.peer_stage);
  if (worst.dp >= 0) where += fmt::format(", dp {}", worst.dp);
  to.report.findings.push_back({.what = TimelineVerdict::kSlowCommunication,
                                .gain_s = gain_s,
                                .gain_share = to.share(gain_s),
                                .claimed = to.share(gain_s) >= kCommunicationGain,
                                .ratio = worst.usual_s > 0 ? worst.mean_s / worst.usual_s : 1,
                                .workers = {},
                                .links = links.slow,
                                .why = fmt::format("{}{} takes {:.2f} ms where {:.2f} ms are usual", worst.name, where,
                                                   worst.mean_s * 1e3, worst.usual_s * 1e3)});
}

void decide(TimelineReport& report) {
  std::vector<TimelineFinding>& findings = report.findings;
  std::erase_if(findings, [](const TimelineFinding& finding) { return finding.gain_share < kWorthSaying; });
  std::ranges::stable_sort(findings, std::greater(), &TimelineFinding::gain_s);
  const auto is_fault = [](const TimelineFinding& finding) {
    return finding.what == TimelineVerdict::kSlowWorker || finding.what == TimelineVerdict::kSlowCommunication;
  };
  auto verdict = std::ranges::find_if(findings, &TimelineFinding::claimed);
  if (verdict == findings.end()) return;
  const double half_s = verdict->gain_s / 2;
  const auto fault = std::ranges::find_if(findings, [&](const TimelineFinding& finding) {
    return finding.claimed && is_fault(finding) && finding.gain_s >= half_s;
  });
  if (fault != findings.end()) verdict = fault;
  report.verdict = verdict->what;
  std::rotate(findings.begin(), verdict, std::next(verdict));
}

}  // namespace

std::string_view verdict_name(TimelineVerdict verdict) {
  switch (verdict) {
    case TimelineVerdict::kEven:
      return "even";
    case TimelineVerdict::kLastStageLong:
      return "last_stage_long";
    case TimelineVerdict::kStageLong:
      return "stage_long";
    case TimelineVerdict::kSlowWorker:
      return "slow_worker";
    case TimelineVerdict::kSequenceImbalance:
      return "sequence_imbalance";
    case TimelineVerdict::kSlowCommunication:
      return "slow_communication";
  }
  return "even";
}

TimelineReport analyze_timeline(const OpTimeline& timeline) {
  TimelineReport report;
  const TimelineGraph graph = build_timeline_graph(timeline);
  Context to{timeline, graph, report};
  count_sizes(to);
  if (graph.steps.empty()) return report;

  const std::vector<double> even_ns = even_durations(graph, TransfersAt::kMedian);
  report.simulated_step_s = to.step_s(graph.own_ns);
  report.ideal_step_s = to.step_s(even_ns);
  report.ideal_shortest_step_s = to.step_s(even_durations(graph, TransfersAt::kShortest));
  report.peers_step_s = to.step_s(peer_durations(timeline, graph));
  if (report.ideal_step_s > 0) report.slowdown_even = report.simulated_step_s / report.ideal_step_s;
  if (report.peers_step_s > 0) report.slowdown = report.simulated_step_s / report.peers_step_s;
  report.communication_share = to.share(report.simulated_step_s - to.step_s(without_transfers(graph)));

  const ComputeRatios ratios = compute_ratios(timeline, graph);
  const std::vector<double> at_peers_ns = scaled_durations(graph, graph.worker, ratios.worker_ratio);
  attribute_workers(to, even_ns, ratios, at_peers_ns);
  attribute_stages(to, even_ns, ratios);
  attribute_kinds(to, even_ns);
  find_slow_workers(to, at_peers_ns);
  find_long_stage(to);
  find_sequence_imbalance(to);
  find_slow_communication(to);
  decide(report);
  return report;
}

}  // namespace eroica
