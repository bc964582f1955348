#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/string_table.h"
#include "trace/byte_source.h"
#include "trace/trace.h"

namespace eroica {

/// What an operation of a pipeline-parallel job does. Other names stay readable in OpTimeline::names.
enum class OpType : uint8_t {
  kForwardCompute,
  kBackwardCompute,
  kForwardSend,  ///< activations to the next stage
  kForwardRecv,
  kBackwardSend,  ///< gradients to the stage before
  kBackwardRecv,
  kParamsSync,  ///< params-all-gather over the data-parallel ranks
  kGradsSync,   ///< grads-reduce-scatter or grads-all-reduce over the data-parallel ranks
  kOther,
};
[[nodiscard]] OpType op_type_of(std::string_view name);  ///< letter case, '_' and '-' do not matter

/// One process of the job.
struct TimelineWorker {
  int32_t dp = 0;
  int32_t stage = 0;
  int32_t rank = -1;  ///< as the file numbers it, −1 = it does not
  int32_t lane = 0;   ///< its place among the workers of the same dp rank and stage (tensor parallel), by rank
  bool operator==(const TimelineWorker&) const = default;
};

/// The operations of a job, one entry of each column an operation, in the order of the file.
/// −1 in step, sequence, chunk and micro_batch: the file does not say.
struct OpTimeline {
  std::vector<TimelineWorker> workers;  ///< by dp, stage, rank
  StringTable names;                    ///< the types as written

  std::vector<uint32_t> worker;  ///< in `workers`
  std::vector<int32_t> step;     ///< as numbered by the file
  std::vector<OpType> type;
  std::vector<uint32_t> name;        ///< in `names`
  std::vector<int64_t> start_ns;     ///< on any clock; only comparable within a worker
  std::vector<int64_t> duration_ns;  ///< ≥ 0; of communication: with the wait for its peers
  std::vector<int32_t> sequence;     ///< k-th of its type in the step on its worker
  std::vector<int32_t> chunk;        ///< model chunk of the worker (virtual pipeline)
  std::vector<int32_t> micro_batch;

  Defects defects;              ///< bad rows are kBadEvent, rows beyond the bounds kTrackOverflow
  uint64_t first_bad_line = 0;  ///< 1-based line of a CSV file, place in the array of a JSON file; 0 = none was bad
  std::string first_bad;        ///< in words
  uint64_t text_bytes = 0;      ///< decompressed size that was read

  [[nodiscard]] size_t size() const { return worker.size(); }
};

struct OpTimelineLimits {
  size_t operations = size_t{1} << 26;
  size_t workers = size_t{1} << 17;
  size_t json_bytes = size_t{2} << 30;  ///< a JSON timeline is held whole; CSV is streamed
};

/// Tells from the beginning (decompressed) of a file whether read_op_timeline understands it: a CSV header that names
/// at least step, optype, start_ts, duration, dp_rank and stage, or Chrome events of such operations.
[[nodiscard]] bool is_op_timeline(std::string_view head);

/// Reads an operation timeline, any compression. CSV: the header's names tell the columns (dp_rank, stage, rank, step,
/// optype, start_ts and duration in s, seq_id, mc, mb_id), in any order, others are ignored; fields may be quoted; the
/// separator is a comma, a semicolon or a tab. JSON: an array (or traceEvents) of Chrome events "X" in µs whose
/// processes are named "DP rank [0]" and whose threads "PP rank 3, TP rank 0, …", with step, seq_id, model_chunk and
/// mb_id in args (the public tool writes transfers there without their wait). Rows that cannot be used are counted.
/// Errors begin with `name` (and the line): no such header, no usable row, unreadable input.
Result<OpTimeline> read_op_timeline(std::unique_ptr<ByteSource> input, const std::string& name,
                                    const OpTimelineLimits& limits = {});

}  // namespace eroica
