#include "compare/timeline_durations.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr double kSlowLink = 1.5;  // times the usual

double lower_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The durations of each kind of operation, whole job.
std::vector<std::vector<double>> by_kind(const TimelineGraph& graph) {
  std::vector<std::vector<double>> values;
  for (size_t place = 0; place < graph.own_ns.size(); ++place) {
    if (graph.kind[place] >= values.size()) values.resize(graph.kind[place] + 1);
    values[graph.kind[place]].push_back(graph.own_ns[place]);
  }
  return values;
}

/// Numbers for what has equal keys.
template <typename Key>
std::vector<uint32_t> classes(const std::vector<Key>& keys, uint32_t& count) {
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&keys](uint32_t i) -> const Key& { return keys[i]; });
  std::vector<uint32_t> result(keys.size());
  count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || keys[order[i]] != keys[order[i - 1]]) ++count;
    result[order[i]] = count - 1;
  }
  return result;
}

/// Stage or worker, type and chunk.
std::vector<uint32_t> classes_by(const OpTimeline& timeline, const TimelineGraph& graph,
                                 const std::vector<uint32_t>& part, uint32_t& count) {
  std::vector<std::pair<uint64_t, int32_t>> keys;
  keys.reserve(part.size());
  for (size_t place = 0; place < part.size(); ++place) {
    keys.emplace_back(uint64_t{part[place]} << 32 | graph.kind[place], timeline.chunk[graph.operation[place]]);
  }
  return classes(keys, count);
}

std::vector<double> class_means(const TimelineGraph& graph, const std::vector<uint32_t>& class_of, uint32_t count) {
  std::vector<double> sums(count, 0.0);
  std::vector<double> sizes(count, 0.0);
  for (size_t place = 0; place < class_of.size(); ++place) {
    sums[class_of[place]] += graph.own_ns[place];
    sizes[class_of[place]] += 1;
  }
  for (uint32_t i = 0; i < count; ++i) sums[i] /= std::max(sizes[i], 1.0);
  return sums;
}

double ratio_of(double value, double reference) { return value > 0 && reference > 0 ? value / reference : 1; }

enum class Middle : uint8_t { kMedian, kLowerMedian };

/// Of each value, the median of all the others; 0 where it is alone.
std::vector<double> others(const std::vector<double>& values, Middle middle) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&values](size_t i) { return values[i]; });
  std::vector<double> result(values.size(), 0.0);
  if (values.size() < 2) return result;
  const size_t rest = values.size() - 1;
  for (size_t at = 0; at < order.size(); ++at) {
    const auto other = [&](size_t k) { return values[order[k < at ? k : k + 1]]; };
    const double low = other((rest - 1) / 2);
    result[order[at]] = middle == Middle::kLowerMedian ? low : (low + other(rest / 2)) / 2;
  }
  return result;
}

}  // namespace

std::vector<double> even_durations(const TimelineGraph& graph, TransfersAt transfers) {
  std::vector<double> mean_ns;
  std::vector<double> transfer_ns;
  for (const std::vector<double>& values : by_kind(graph)) {
    mean_ns.push_back(mean(values));
    transfer_ns.push_back(values.empty()                      ? 0
                          : transfers == TransfersAt::kMedian ? median(values)
                                                              : *std::ranges::min_element(values));
  }
  std::vector<double> result;
  result.reserve(graph.own_ns.size());
  for (size_t place = 0; place < graph.own_ns.size(); ++place) {
    result.push_back((is_transfer(graph.scope[place]) ? transfer_ns : mean_ns)[graph.kind[place]]);
  }
  return result;
}

std::vector<double> peer_durations(const OpTimeline& timeline, const TimelineGraph& graph) {
  uint32_t count = 0;
  const std::vector<uint32_t> class_of = classes_by(timeline, graph, graph.stage, count);
  std::vector<std::vector<double>> values(count);
  for (size_t place = 0; place < class_of.size(); ++place) values[class_of[place]].push_back(graph.own_ns[place]);
  std::vector<double> medians;
  medians.reserve(count);
  for (const std::vector<double>& of_class : values) medians.push_back(median(of_class));
  std::vector<double> result;
  result.reserve(class_of.size());
  for (const uint32_t i : class_of) result.push_back(medians[i]);
  return result;
}

std::vector<double> smooth_durations(const OpTimeline& timeline, const TimelineGraph& graph) {
  uint32_t count = 0;
  const std::vector<uint32_t> class_of = classes_by(timeline, graph, graph.worker, count);
  const std::vector<double> means = class_means(graph, class_of, count);
  std::vector<double> result = graph.own_ns;
  for (size_t place = 0; place < result.size(); ++place) {
    if (!is_transfer(graph.scope[place])) result[place] = means[class_of[place]];
  }
  return result;
}

std::vector<double> without_transfers(const TimelineGraph& graph) {
  std::vector<double> result = graph.own_ns;
  for (size_t place = 0; place < result.size(); ++place) {
    if (is_transfer(graph.scope[place])) result[place] = 0;
  }
  return result;
}

ComputeRatios compute_ratios(const OpTimeline& timeline, const TimelineGraph& graph) {
  const size_t workers = timeline.workers.size();
  ComputeRatios ratios;
  ratios.worker_s.assign(workers, 0.0);
  ratios.worker_ratio.assign(workers, 1.0);
  for (size_t place = 0; place < graph.own_ns.size(); ++place) {
    if (!is_transfer(graph.scope[place])) ratios.worker_s[graph.worker[place]] += graph.own_ns[place] * 1e-9;
  }
  for (double& seconds : ratios.worker_s) seconds /= static_cast<double>(std::max<size_t>(graph.steps.size(), 1));

  std::map<std::pair<int32_t, int32_t>, std::vector<uint32_t>> peers;  // by stage and lane
  std::map<int32_t, std::vector<double>> of_stage;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    const TimelineWorker& who = timeline.workers[worker];
    peers[{who.stage, who.lane}].push_back(worker);
    of_stage[who.stage].push_back(ratios.worker_s[worker]);
  }
  for (const auto& [place, members] : peers) {
    std::vector<double> seconds;
    for (const uint32_t worker : members) seconds.push_back(ratios.worker_s[worker]);
    const std::vector<double> reference = others(seconds, Middle::kMedian);
    for (size_t i = 0; i < members.size(); ++i) {
      ratios.worker_ratio[members[i]] = ratio_of(seconds[i], reference[i]);
    }
  }
  for (const auto& [stage, seconds] : of_stage) ratios.stage_s.push_back(median(seconds));
  const std::vector<double> reference = others(ratios.stage_s, Middle::kLowerMedian);
  for (size_t i = 0; i < reference.size(); ++i) {
    ratios.stage_ratio.push_back(ratio_of(ratios.stage_s[i], reference[i]));
  }
  return ratios;
}

std::vector<double> scaled_durations(const TimelineGraph& graph, const std::vector<uint32_t>& part,
                                     const std::vector<double>& ratio) {
  std::vector<double> result = graph.own_ns;
  for (size_t place = 0; place < result.size(); ++place) {
    if (!is_transfer(graph.scope[place])) result[place] /= ratio[part[place]];
  }
  return result;
}

LinkDurations link_durations(const OpTimeline& timeline, const TimelineGraph& graph) {
  using Link = std::tuple<uint32_t, int32_t, int32_t>;  // kind, stage, dp (−1: over all)
  std::map<Link, std::vector<double>> links;
  const auto link_of = [&](size_t place) {
    const TimelineWorker& who = timeline.workers[graph.worker[place]];
    const bool across = graph.scope[place] == OpScope::kDataParallel || graph.scope[place] == OpScope::kJob;
    const bool stages = graph.scope[place] == OpScope::kStages || graph.scope[place] == OpScope::kJob;
    return Link(graph.kind[place], stages ? -1 : who.stage, across ? -1 : who.dp);
  };
  for (size_t place = 0; place < graph.own_ns.size(); ++place) {
    if (is_transfer(graph.scope[place])) links[link_of(place)].push_back(graph.own_ns[place]);
  }
  std::map<uint32_t, std::vector<double>> medians_of_kind;
  for (const auto& [link, values] : links) {
    medians_of_kind[std::get<0>(link)].push_back(median(values));
  }
  std::map<uint32_t, double> usual;
  for (const auto& [kind, medians] : medians_of_kind) usual[kind] = lower_median(medians);

  LinkDurations result;
  result.usual_ns = graph.own_ns;
  for (size_t place = 0; place < result.usual_ns.size(); ++place) {
    if (is_transfer(graph.scope[place])) {
      result.usual_ns[place] = std::min(result.usual_ns[place], usual[graph.kind[place]]);
    }
  }

  int32_t last_stage = 0;
  std::set<int32_t> dps;
  for (const TimelineWorker& who : timeline.workers) {
    last_stage = std::max(last_stage, who.stage);
    dps.insert(who.dp);
  }
  std::map<std::pair<uint32_t, int32_t>, std::vector<std::pair<SlowLink, double>>> slow;  // with its cost
  for (const auto& [link, values] : links) {
    const auto& [kind, stage, dp] = link;
    const double mean_ns = mean(values);
    if (mean_ns <= kSlowLink * usual[kind]) continue;
    SlowLink one{.name = std::string(timeline.names.text(kind)),
                 .stage = stage,
                 .peer_stage = -1,
                 .dp = dp,
                 .mean_s = mean_ns * 1e-9,
                 .usual_s = usual[kind] * 1e-9};
    const OpType type = op_type_of(one.name);
    const bool to_next = type == OpType::kForwardSend || type == OpType::kBackwardRecv;
    const bool to_previous = type == OpType::kForwardRecv || type == OpType::kBackwardSend;
    if (to_next) one.peer_stage = stage == last_stage ? 0 : stage + 1;
    if (to_previous) one.peer_stage = stage == 0 ? last_stage : stage - 1;
    slow[{kind, stage}].emplace_back(one, (mean_ns - usual[kind]) * static_cast<double>(values.size()));
  }
  std::vector<std::pair<SlowLink, double>> list;
  for (auto& [place, of_place] : slow) {
    if (dps.size() > 1 && of_place.size() == dps.size()) {  // all ranks alike: said once
      std::pair<SlowLink, double> all = of_place.front();
      all.first.dp = -1;
      all.first.mean_s = all.second = 0;
      for (const auto& [one, cost_ns] : of_place) {
        all.first.mean_s += one.mean_s / static_cast<double>(dps.size());
        all.second += cost_ns;
      }
      of_place = {all};
    }
    list.insert(list.end(), of_place.begin(), of_place.end());
  }
  std::ranges::stable_sort(list, std::greater(), [](const auto& entry) { return entry.second; });
  for (const auto& [one, cost_ns] : list) result.slow.push_back(one);
  return result;
}

MicroBatchVariation micro_batch_variation(const OpTimeline& timeline, const TimelineGraph& graph) {
  uint32_t count = 0;
  const std::vector<uint32_t> class_of = classes_by(timeline, graph, graph.worker, count);
  const std::vector<double> means = class_means(graph, class_of, count);

  // Forward and backward of one micro-batch on one worker, as shares of their means.
  using Key = std::tuple<int32_t, uint32_t, int32_t, int32_t, bool>;  // step, worker, chunk, micro-batch, backward
  std::vector<std::pair<Key, double>> computations;
  std::vector<double> squares(timeline.workers.size(), 0.0);
  std::vector<double> sizes(timeline.workers.size(), 0.0);
  for (size_t place = 0; place < graph.own_ns.size(); ++place) {
    const uint32_t row = graph.operation[place];
    const bool backward = timeline.type[row] == OpType::kBackwardCompute;
    if (!backward && timeline.type[row] != OpType::kForwardCompute) continue;
    const double average = means[class_of[place]];
    if (average <= 0) continue;
    const double deviation = graph.own_ns[place] / average - 1;
    const int32_t batch = timeline.micro_batch[row] >= 0 ? timeline.micro_batch[row] : timeline.sequence[row];
    computations.emplace_back(Key(timeline.step[row], graph.worker[place], timeline.chunk[row], batch, backward),
                              deviation);
    if (!backward) {
      squares[graph.worker[place]] += deviation * deviation;
      sizes[graph.worker[place]] += 1;
    }
  }
  std::ranges::sort(computations);
  double both = 0;
  double forward = 0;
  double backward = 0;
  for (size_t i = 1; i < computations.size(); ++i) {
    auto [before, f] = computations[i - 1];
    const auto& [after, b] = computations[i];
    if (std::get<4>(before) || !std::get<4>(after)) continue;
    std::get<4>(before) = true;
    if (before != after) continue;
    both += f * b;
    forward += f * f;
    backward += b * b;
  }
  MicroBatchVariation result;
  if (forward > 0 && backward > 0) result.correlation = both / std::sqrt(forward * backward);
  std::vector<double> variations;
  for (size_t worker = 0; worker < sizes.size(); ++worker) {
    if (sizes[worker] > 0) variations.push_back(std::sqrt(squares[worker] / sizes[worker]));
  }
  result.variation = median(variations);
  return result;
}

}  // namespace eroica
