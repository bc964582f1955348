#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace eroica {

/// A part of a job within a stage: ranks that collectives join.
struct StagePart {
  int32_t lowest_rank = 0;
  bool present = false;  ///< some of its ranks were seen
};

/// Where a part stands.
struct StagePlace {
  uint32_t pipeline = 0;  ///< replicas of one pipeline have one number, ascending from 0 by their lowest ranks
  int32_t stage = 0;      ///< along it
};

/// Orders parts along the exchanges between them, the part with the lowest rank first: absent parts count, so that a
/// stage that nobody saw shifts no other. Pipelines are replicas of each other where they are equally long and both
/// ends of one such were seen; else some parts of them may be missing, and nothing tells which stages are alike. Parts
/// that neither exchange nor stand in a chain or ring are ordered by rank.
std::vector<StagePlace> order_stages(const std::vector<StagePart>& parts,
                                     const std::vector<std::pair<uint32_t, uint32_t>>& links);

}  // namespace eroica
