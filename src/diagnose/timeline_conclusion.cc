#include "diagnose/timeline_conclusion.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/robust.h"
#include "compare/timeline_graph.h"

namespace eroica {
namespace {

constexpr double kHintConfidence = 0.4;
constexpr double kMostOfWorst = 0.5;  // links that are so much of the slowest one's excess late belong to it

std::string_view cause_of(TimelineVerdict what) {
  switch (what) {
    case TimelineVerdict::kLastStageLong:
    case TimelineVerdict::kStageLong:
      return "work.pipeline_imbalance";
    case TimelineVerdict::kSlowWorker:
      return "gpu.slow_unexplained";
    case TimelineVerdict::kSequenceImbalance:
      return "work.sequence_imbalance";
    case TimelineVerdict::kSlowCommunication:
      return "nic.slow_link";
    case TimelineVerdict::kEven:
      break;
  }
  return "";
}

double confidence_of(TimelineVerdict what) {
  switch (what) {
    case TimelineVerdict::kLastStageLong:
    case TimelineVerdict::kStageLong:
      return 0.85;
    case TimelineVerdict::kSequenceImbalance:
      return 0.75;
    case TimelineVerdict::kSlowWorker:
    case TimelineVerdict::kSlowCommunication:
    case TimelineVerdict::kEven:
      break;
  }
  return 0.6;
}

/// Workers that a finding is about; empty: all alike.
std::set<uint32_t> workers_of(const TimelineFinding& finding, const OpTimeline& timeline) {
  std::set<uint32_t> found(finding.workers.begin(), finding.workers.end());
  std::set<std::pair<int32_t, int32_t>> ends;  // stage, dp; dp −1 = all
  if (finding.stage >= 0) ends.emplace(finding.stage, -1);
  for (const SlowLink& link : finding.links) {
    const SlowLink& worst = finding.links.front();
    if (link.mean_s - link.usual_s < kMostOfWorst * (worst.mean_s - worst.usual_s)) continue;
    ends.emplace(link.stage, link.dp);
    if (link.peer_stage >= 0) ends.emplace(link.peer_stage, link.dp);
  }
  for (uint32_t worker = 0; worker < timeline.workers.size(); ++worker) {
    const TimelineWorker& who = timeline.workers[worker];
    if (ends.contains({who.stage, -1}) || ends.contains({who.stage, who.dp})) found.insert(worker);
  }
  return found;
}

/// The type of computation in which `workers` take most time beyond others: those of the same stages where some are
/// left, else all others.
std::optional<FunctionRef> most_excess(const std::set<uint32_t>& workers, const OpTimeline& timeline) {
  std::map<uint32_t, std::vector<double>> time_of;  // by name, then worker
  for (size_t row = 0; row < timeline.size(); ++row) {
    if (is_transfer(op_scope(timeline.type[row], timeline.names.text(timeline.name[row])))) continue;
    std::vector<double>& times = time_of[timeline.name[row]];
    times.resize(timeline.workers.size());
    times[timeline.worker[row]] += static_cast<double>(timeline.duration_ns[row]);
  }
  std::set<int32_t> stages;
  for (const uint32_t worker : workers) stages.insert(timeline.workers[worker].stage);
  std::vector<uint32_t> peers;
  std::vector<uint32_t> others;
  for (uint32_t worker = 0; worker < timeline.workers.size(); ++worker) {
    if (workers.contains(worker)) continue;
    others.push_back(worker);
    if (stages.contains(timeline.workers[worker].stage)) peers.push_back(worker);
  }
  if (peers.empty()) peers = others;
  std::optional<FunctionRef> found;
  double most = 0;
  std::string best;
  for (const auto& [name, times] : time_of) {
    std::vector<double> usual;
    usual.reserve(peers.size());
    for (const uint32_t peer : peers) usual.push_back(times[peer]);
    double excess = 0;
    for (const uint32_t worker : workers) excess += times[worker];
    excess = excess / static_cast<double>(workers.size()) - median(usual);
    const std::string text(timeline.names.text(name));
    if (excess <= 0 || excess < most || (excess == most && text >= best)) continue;
    most = excess;
    best = text;
    found = FunctionRef{
        .name = text, .kind = std::string(function_kind_name(FunctionKind::kCompute)), .file = {}, .path = {}};
  }
  return found;
}

void add_alternatives(const TimelineFinding& finding, Diagnosis& diagnosis) {
  if (finding.what == TimelineVerdict::kSlowWorker) {
    diagnosis.alternatives = {
        {"gpu.thermal_throttle", 0.2, "a timeline has no hardware signals; gpu.throttle_thermal would decide"},
        {"gpu.power_cap", 0.2, "gpu.throttle_power and gpu.power_limit would decide"},
        {"gpu.shared", 0.1, "gpu.foreign_processes would decide"},
        {"cpu.contention", 0.1, "cpu.runnable_wait would decide"},
        {"code.slow_function", 0.1, "a trace of its functions would decide"},
    };
  } else if (finding.what == TimelineVerdict::kSlowCommunication) {
    diagnosis.alternatives = {
        {"net.congestion", 0.2, "a timeline has no hardware signals; net.transmit and net.tcp_retransmit would decide"},
        {"nic.gdr_misconfigured", 0.1, "the hosts' labels would decide"},
    };
  }
}

/// What acting on it can gain: a stage's excess does not go away, it moves to the other stages.
double gain_of(const TimelineFinding& finding, const TimelineReport& report) {
  const bool moves = finding.what == TimelineVerdict::kLastStageLong || finding.what == TimelineVerdict::kStageLong;
  const double most_s = moves ? report.simulated_step_s - report.ideal_step_s : finding.gain_s;
  return std::max(0.0, std::min(finding.gain_s, most_s));
}

Diagnosis described(const TimelineFinding& finding, const OpTimeline& timeline, const TimelineReport& report,
                    std::span<const Rule> rules) {
  Diagnosis diagnosis;
  diagnosis.cause = cause_of(finding.what);
  const auto rule = std::ranges::find(rules, diagnosis.cause, &Rule::cause);
  diagnosis.title = rule != rules.end() ? rule->title : diagnosis.cause;
  if (finding.what == TimelineVerdict::kSlowWorker) diagnosis.title = "Worker computes more slowly than its peers";
  if (rule != rules.end()) diagnosis.action = rule->action;

  const std::vector<int32_t> ranks = worker_ranks(timeline);
  const std::set<uint32_t> workers = workers_of(finding, timeline);
  for (const uint32_t worker : workers) diagnosis.ranks.push_back(ranks[worker]);
  std::ranges::sort(diagnosis.ranks);
  diagnosis.scope = workers.empty() ? Scope::kAll : Scope::kRanks;
  if (finding.what == TimelineVerdict::kSlowCommunication) {
    diagnosis.scope = Scope::kLink;
    if (!finding.links.empty()) {
      diagnosis.function = FunctionRef{.name = finding.links.front().name,
                                       .kind = std::string(function_kind_name(FunctionKind::kCollective)),
                                       .file = {},
                                       .path = {}};
    }
  } else if (!workers.empty()) {
    diagnosis.function = most_excess(workers, timeline);
  }

  const double gain_s = gain_of(finding, report);
  const double gain_share = report.simulated_step_s > 0 ? gain_s / report.simulated_step_s : 0;
  diagnosis.summary = fmt::format("{}; without it a step would be {:.1f} ms ({:.1f} %) shorter.", finding.why,
                                  gain_s * 1e3, gain_share * 100);
  diagnosis.summary.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(diagnosis.summary.front())));
  diagnosis.lost_ms_per_step = gain_s * 1e3;
  diagnosis.marginal_ms_per_step = diagnosis.lost_ms_per_step;
  diagnosis.lost_gpu_seconds_per_hour = gain_share * 3600 * static_cast<double>(report.workers);
  switch (finding.what) {
    case TimelineVerdict::kSlowWorker:
      diagnosis.evidence = {{"time of the same computations", finding.ratio, "ratio", 1.0, std::nullopt, {}},
                            {"share of the slowdown that the slowest 3 % of workers explain",
                             report.explained_by_slowest_workers,
                             "share",
                             std::nullopt,
                             std::nullopt,
                             {}}};
      break;
    case TimelineVerdict::kLastStageLong:
    case TimelineVerdict::kStageLong: {
      const auto stage = std::ranges::find(report.by_stage, finding.stage, &StageAttribution::stage);
      diagnosis.evidence = {{"time of the stage's computations", finding.ratio, "ratio", 1.0, std::nullopt, {}}};
      if (stage != report.by_stage.end()) {
        diagnosis.evidence.push_back({"share of the slowdown that this stage explains",
                                      stage->even.explained,
                                      "share",
                                      std::nullopt,
                                      std::nullopt,
                                      {}});
      }
      break;
    }
    case TimelineVerdict::kSequenceImbalance:
      diagnosis.evidence = {{"deviation of micro-batches on most workers",
                             report.compute_variation,
                             "share",
                             std::nullopt,
                             std::nullopt,
                             {}},
                            {"correlation of forward and backward over micro-batches",
                             report.forward_backward_correlation,
                             "correlation",
                             std::nullopt,
                             std::nullopt,
                             {}}};
      break;
    case TimelineVerdict::kSlowCommunication:
      diagnosis.evidence = {
          {"duration of its transfers, waits left out", finding.ratio, "ratio", 1.0, std::nullopt, {}}};
      break;
    case TimelineVerdict::kEven:
      break;
  }
  for (Evidence& evidence : diagnosis.evidence) evidence.ranks = diagnosis.ranks;
  add_alternatives(finding, diagnosis);
  return diagnosis;
}

}  // namespace

std::vector<int32_t> worker_ranks(const OpTimeline& timeline) {
  std::vector<int32_t> ranks;
  ranks.reserve(timeline.workers.size());
  for (const TimelineWorker& worker : timeline.workers) ranks.push_back(worker.rank);
  std::vector<int32_t> sorted = ranks;
  std::ranges::sort(sorted);
  const bool numbered = std::ranges::adjacent_find(sorted) == sorted.end() && !sorted.empty() && sorted.front() >= 0;
  if (!numbered) std::iota(ranks.begin(), ranks.end(), 0);  // workers stand in this order
  return ranks;
}

Conclusion conclude_timeline(const OpTimeline& timeline, const TimelineReport& report, std::span<const Rule> rules) {
  Conclusion conclusion;
  const std::vector<int32_t> ranks = worker_ranks(timeline);
  std::map<int32_t, std::vector<int32_t>> stages;
  for (size_t i = 0; i < ranks.size(); ++i) stages[timeline.workers[i].stage].push_back(ranks[i]);
  for (auto& [stage, members] : stages) {
    std::ranges::sort(members);
    conclusion.peer_groups.push_back({stages.size() == 1 ? "all ranks" : fmt::format("stage {}", stage),
                                      "the same pipeline stage by the timeline", std::move(members)});
  }
  const bool claims = report.verdict != TimelineVerdict::kEven && !report.findings.empty();
  double without_ms = report.measured_step_s * 1e3;
  for (size_t i = 0; i < report.findings.size(); ++i) {
    const TimelineFinding& finding = report.findings[i];
    Diagnosis diagnosis = described(finding, timeline, report, rules);
    if (claims && i == 0) {
      diagnosis.confidence = confidence_of(finding.what);
      diagnosis.confidence_why.emplace_back("what the step graph gains without it");
      without_ms = std::max(0.0, without_ms - diagnosis.lost_ms_per_step);
      if (!diagnosis.ranks.empty()) {
        std::vector<int32_t> sorted = ranks;
        std::ranges::sort(sorted);
        std::ranges::set_difference(sorted, diagnosis.ranks, std::back_inserter(conclusion.victims));
      }
      conclusion.diagnoses.push_back(std::move(diagnosis));
    } else {
      diagnosis.confidence = kHintConfidence;
      diagnosis.confidence_why.emplace_back(finding.claimed ? "another reason explains more" : "it costs little");
      conclusion.hints.push_back(std::move(diagnosis));
    }
  }
  conclusion.what_if = {report.slowdown, report.slowdown_even, without_ms, report.measured_step_s * 1e3};
  if (report.unmatched > 0) {
    conclusion.notes.push_back(fmt::format(
        "{} transfers have no counterpart in the timeline; they count with their usual duration", report.unmatched));
  }
  if (report.broken_edges > 0) {
    conclusion.notes.push_back(
        fmt::format("{} dependencies between operations ran in a circle and were left out", report.broken_edges));
  }
  return conclusion;
}

}  // namespace eroica
