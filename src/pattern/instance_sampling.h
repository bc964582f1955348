#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pattern/pattern.h"

namespace eroica {

/// Ranks first, first + stride, … (count of them).
struct RankRun {
  int32_t first;
  int32_t stride;
  uint32_t count;
};
/// The ranks of a group as runs, in order; greedy.
std::vector<RankRun> rank_runs(std::span<const int32_t> ranks);

/// The same on every member of a group for its k-th collective, whatever else they know: from the group's ranks (else
/// from name, description and size) and the sequence number.
uint64_t instance_hash(const GroupPattern& group, int64_t sequence);

struct InstanceSample {
  std::vector<CollectiveInstance> instances;  ///< by start
  uint32_t sampling = 0;
};

/// At most `limit` of a pattern's instances (`groups`: the pattern's, as they identify them), chosen so that the
/// choices of different ranks join: those with a sequence number when the lowest k bits of their hash are zero; of
/// those without one the first 2^-k, as ordinals that every rank counts for itself can only be joined in an unbroken
/// run. k, beginning with the pattern's own, grows until they fit.
InstanceSample thin_instances(const RankPattern& pattern, std::span<const GroupPattern> groups, size_t limit);

}  // namespace eroica
