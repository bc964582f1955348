#pragma once

#include <cstdint>
#include <vector>

#include "compare/timeline_graph.h"
#include "compare/timeline_what_if.h"
#include "trace/op_timeline.h"

namespace eroica {

/// What-if durations: each function gives the own duration of every place under one change, in ns.

enum class TransfersAt : uint8_t { kMedian, kShortest };
/// Every computation at the mean of its type over the whole job, every transfer at the median or shortest of its type.
std::vector<double> even_durations(const TimelineGraph& graph, TransfersAt transfers);
/// Every operation at the median over those of its stage, type and chunk.
std::vector<double> peer_durations(const OpTimeline& timeline, const TimelineGraph& graph);
/// Every computation at the mean of its worker, type and chunk.
std::vector<double> smooth_durations(const OpTimeline& timeline, const TimelineGraph& graph);
/// Transfers take no time.
std::vector<double> without_transfers(const TimelineGraph& graph);

/// A step's computations on each worker, and how they compare.
struct ComputeRatios {
  std::vector<double> worker_s;      ///< a step, mean
  std::vector<double> worker_ratio;  ///< to the median of the other dp ranks of its stage and lane; 1 = no such
  std::vector<double> stage_s;       ///< the median of its workers; by TimelineGraph::stage
  std::vector<double> stage_ratio;   ///< to the lower median of the other stages; 1 = no such
};
ComputeRatios compute_ratios(const OpTimeline& timeline, const TimelineGraph& graph);
/// Computations of each part divided by its ratio.
std::vector<double> scaled_durations(const TimelineGraph& graph, const std::vector<uint32_t>& part,
                                     const std::vector<double>& ratio);

/// Links (a type's transfers at one place) with their means, and the durations when none takes longer than is usual.
struct LinkDurations {
  std::vector<SlowLink> slow;  ///< the most costly first
  std::vector<double> usual_ns;
};
LinkDurations link_durations(const OpTimeline& timeline, const TimelineGraph& graph);

/// How micro-batches vary on their workers.
struct MicroBatchVariation {
  double correlation = 0;  ///< of forward with backward, over all micro-batches
  double variation = 0;    ///< median over workers of deviation ÷ mean of forward times
};
MicroBatchVariation micro_batch_variation(const OpTimeline& timeline, const TimelineGraph& graph);

}  // namespace eroica
