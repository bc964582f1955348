#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/op_timeline.h"

namespace eroica {

/// What makes a job's steps longer than they need be.
enum class TimelineVerdict : uint8_t {
  kEven,               ///< nothing whose removal would gain much
  kLastStageLong,      ///< the last pipeline stage has more work than the others: work, not a fault
  kStageLong,          ///< another stage has
  kSlowWorker,         ///< some workers compute more slowly than the data-parallel peers of their stage
  kSequenceImbalance,  ///< micro-batches of uneven length: the excess moves from worker to worker
  kSlowCommunication,  ///< some transfers take longer than others of their kind
};
[[nodiscard]] std::string_view verdict_name(TimelineVerdict verdict);  ///< "even", "last_stage_long" …

/// What is gained when only one part of the job (a worker, a stage, a type of operation) changes.
struct PartAttribution {
  double slowdown_alone = 1;  ///< step time with all other parts ideal ÷ the ideal step
  double explained = 0;  ///< share of (step − ideal step) gained when only this part is ideal (M); may be negative
};

struct WorkerAttribution {
  uint32_t worker = 0;  ///< in OpTimeline::workers
  TimelineWorker who;
  PartAttribution even;
  double compute_s = 0;      ///< a step, mean
  double compute_ratio = 1;  ///< to the median of the other data-parallel ranks of its stage; 1 where there are none
  double gain_s = 0;         ///< a step, when it computes as fast as these
};

struct StageAttribution {
  int32_t stage = 0;
  PartAttribution even;
  double compute_s = 0;      ///< a step; the median of its workers
  double compute_ratio = 1;  ///< to the usual (lower median) of the other stages
  double gain_s = 0;         ///< a step, when all its workers compute as fast as these
};

struct KindAttribution {
  std::string name;  ///< type of operation, as written
  bool transfer = false;
  uint64_t operations = 0;
  double mean_s = 0;  ///< own duration: without the wait for peers
  double median_s = 0;
  PartAttribution even;
};

/// Transfers that are slower than others of their kind.
struct SlowLink {
  std::string name;  ///< type of operation
  int32_t stage = 0;
  int32_t peer_stage = -1;  ///< the stage at the other end; −1 = a collective
  int32_t dp = -1;          ///< −1 = all data-parallel ranks
  double mean_s = 0;
  double usual_s = 0;  ///< the lower median over all links of the kind
};

/// One possible reason, with what its removal gains.
struct TimelineFinding {
  TimelineVerdict what = TimelineVerdict::kEven;
  double gain_s = 0;              ///< a step
  double gain_share = 0;          ///< of the simulated step
  bool claimed = false;           ///< clear enough to be said
  int32_t stage = -1;             ///< kLastStageLong, kStageLong
  double ratio = 1;               ///< its compute time (of workers: the largest) to that of its peers
  std::vector<uint32_t> workers;  ///< kSlowWorker: in OpTimeline::workers, the slowest first
  std::vector<SlowLink> links;    ///< kSlowCommunication, the most costly first; at most 64
  std::string why;                ///< in words, with numbers
};

/// All that is said of a timeline. Times are of a step, in seconds, means over the steps; "own" is without waits.
struct TimelineReport {
  size_t dp = 0;
  size_t stages = 0;
  size_t workers = 0;
  size_t steps = 0;
  size_t chunks = 1;         ///< model chunks on a worker
  size_t micro_batches = 0;  ///< forward operations of a worker in a step ÷ chunks, the most
  uint64_t operations = 0;
  uint64_t unmatched = 0;     ///< transfers whose peer is missing
  uint64_t broken_edges = 0;  ///< dependencies that ran in a circle

  double measured_step_s = 0;               ///< first start to last end on the worker where that is longest
  double simulated_step_s = 0;              ///< by the step graph, gaps left out: what all gains refer to
  double ideal_step_s = 0;                  ///< every computation at the mean, every transfer at the median of its type
  double ideal_shortest_step_s = 0;         ///< the same, with transfers at their shortest
  double peers_step_s = 0;                  ///< every operation at the median of its peers: stage, type, chunk
  double slowdown_even = 1;                 ///< simulated ÷ ideal: the literature's S
  double slowdown = 1;                      ///< simulated ÷ peers
  double explained_by_slowest_workers = 0;  ///< M_W: the slowest 3 % of workers (at least one) made ideal
  double explained_by_last_stage = 0;       ///< M_S
  std::vector<uint32_t> slowest_workers;    ///< these 3 %

  double communication_share = 0;           ///< of the simulated step, gained when transfers take no time
  double forward_backward_correlation = 0;  ///< of micro-batches, after each worker's own mean is taken out
  double compute_variation = 0;             ///< median over workers of the deviation of forward times ÷ their mean
  double smooth_gain_s = 0;                 ///< when every computation takes its worker's mean

  std::vector<WorkerAttribution> by_worker;  ///< in the order of OpTimeline::workers
  std::vector<StageAttribution> by_stage;
  std::vector<KindAttribution> by_kind;  ///< by name

  TimelineVerdict verdict = TimelineVerdict::kEven;
  std::vector<TimelineFinding> findings;  ///< the verdict's first, then the largest gain first
};

/// Analyses a timeline. Method and measures after Lin et al., "Understanding Stragglers in Large Model Training Using
/// What-if Analysis" (OSDI '25): a stage or worker is judged by what the step gains without its excess.
/// A worker is blamed when it computes clearly more slowly than its data-parallel peers of the same stage and at their
/// speed the step were 2 % shorter; a stage at 5 %, uneven micro-batches at 4 %, communication at 3 %.
/// A fault that gains at least half of what the largest reason gains is the verdict. Never fails; an empty timeline is
/// even.
TimelineReport analyze_timeline(const OpTimeline& timeline);

}  // namespace eroica
