#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pattern/pattern.h"

namespace eroica {

/// A function that the published method calls abnormal, with everything that it says of it.
struct AbnormalFunction {
  uint64_t function = 0;  ///< in the NameTable
  FunctionKind kind = FunctionKind::kPython;
  std::vector<int32_t> ranks;  ///< on which it is abnormal, ascending
  double share = 0;            ///< β: mean over these ranks
  double others_share = 0;     ///< β: median of the other ranks; 0 where there are none
  double out_of_range = 0;     ///< D: the largest
  uint32_t differing = 0;      ///< Δ: the largest
  uint32_t sampled = 0;        ///< N
  bool operator==(const AbnormalFunction&) const = default;
};

/// The localisation that was published for EROICA, to compare with; nothing is added to it.
/// A function on a worker is (β, µ, σ): its share of the critical path, and mean and deviation of the hardware that it
/// uses, each over the largest of any worker. Hardware is the multiprocessors for GPU compute, PCIe and memory for
/// memory operations, NICs and NVLink for collectives, the CPU for everything on the host (and for any of them that has
/// no samples of its own); of several metrics or entities the one with the largest mean. A worker that never ran a
/// function is (0, 0, 0).
/// D is how far β is above what is expected: 0.01 for host functions, 1 for all others (which are never above). Δ is
/// how many of N ≤ 100 sampled workers are 0.4 or more away in Manhattan distance. A function is abnormal on a worker
/// where β > 0.01 and (D > 0 or Δ > median + 5 · MAD of all workers' Δ). The sample is evenly spread over the ranks.
/// Most excess first, then largest share. The order of patterns does not matter.
std::vector<AbnormalFunction> eroica_method(std::span<const RankPattern> patterns);

}  // namespace eroica
