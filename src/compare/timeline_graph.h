#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compare/step_graph.h"
#include "trace/op_timeline.h"

namespace eroica {

/// Who takes part in an operation.
enum class OpScope : uint8_t {
  kCompute,         ///< one worker, on its own
  kNextStage,       ///< a send with its receive, between neighbouring stages
  kDataParallel,    ///< the same stage of all data-parallel ranks
  kTensorParallel,  ///< the workers of one stage and data-parallel rank
  kStages,          ///< the first and the last stage of one data-parallel rank (shared embeddings)
  kJob,             ///< all workers (the norm of all gradients)
  kUnknown,         ///< communication whose peers are not known
};
/// By its type, and for other types by words in its name ("embedding", "layernorm", "clip", "all-reduce" …).
[[nodiscard]] OpScope op_scope(OpType type, std::string_view name);
[[nodiscard]] inline bool is_transfer(OpScope scope) { return scope != OpScope::kCompute; }

/// The step graph of an operation timeline, and what each of its places is. All vectors are by place.
struct TimelineGraph {
  StepGraph graph;
  std::vector<int32_t> steps;       ///< the file's numbers of the graph's steps, ascending
  std::vector<uint32_t> operation;  ///< the row of the timeline
  std::vector<uint32_t> worker;
  std::vector<uint32_t> stage;  ///< as an index among the job's stages in order: their numbers may have holes
  std::vector<uint32_t> kind;   ///< the type, as an index in OpTimeline::names
  std::vector<OpScope> scope;
  /// How long it takes once all peers are ready. Of communication: the shortest duration among its peers, which is that
  /// of the peer that came last, and needs no clock in common (the literature's end − latest start, where clocks
  /// agree).
  std::vector<double> own_ns;
  uint64_t unmatched =
      0;  ///< sends, receives and collectives whose peers were not found: own_ns is the usual of its kind
};

/// Builds it as the what-if literature does. On each worker forward, backward and unknown operations run in the order
/// in which they began. A forward (backward) waits for its receive, a send for the operation that made its data; the
/// k-th send between two stages meets the k-th receive, and receives are posted as soon as the one before is through.
/// The parameters' all-gather comes before the first forward of its chunk, the gradients' reduce-scatter after the last
/// backward of its chunk and after whatever the worker had done by then. Gaps between operations are left out: what the
/// graph says of the original is shorter than what was measured by just these. O(n log n).
TimelineGraph build_timeline_graph(const OpTimeline& timeline);

}  // namespace eroica
