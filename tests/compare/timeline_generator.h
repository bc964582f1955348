#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/op_timeline.h"

namespace eroica {

/// One operation, before it is timed.
struct GeneratedOp {
  int32_t dp = 0;
  int32_t stage = 0;
  int32_t step = 0;
  OpType type = OpType::kOther;
  int32_t chunk = 0;
  int32_t micro_batch = 0;
};

/// A pipeline-parallel job (1F1B; with several chunks Megatron's interleaved schedule) with known truth.
struct GeneratedJob {
  int32_t dp = 2;
  int32_t stages = 4;
  int32_t chunks = 1;
  int32_t micro_batches = 8;  ///< with several chunks a multiple of `stages`
  int32_t steps = 4;
  int64_t gap_ns = 0;          ///< between operations of a worker, recorded by nobody
  bool clocks_differ = false;  ///< each worker's clock has an offset of its own
  bool receives_late = false;  ///< a receive is posted when the computation that needs it is next
  std::function<int64_t(const GeneratedOp&)> own_ns;  ///< of computations and transfers (a pair: its send)
};

struct GeneratedTimeline {
  OpTimeline timeline;
  std::vector<double> step_ns;  ///< true length of each step
};

/// Executes the job event by event (not by a step graph) and records what a profiler would.
GeneratedTimeline generate(const GeneratedJob& job);
/// The same as a CSV file.
std::string to_csv(const OpTimeline& timeline);

}  // namespace eroica
