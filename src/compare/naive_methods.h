#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "pattern/pattern.h"

namespace eroica {

/// A rank and a function on it: all that a simple rule says.
struct NaiveFinding {
  uint64_t function = 0;  ///< in the NameTable
  FunctionKind kind = FunctionKind::kPython;
  int32_t rank = -1;
  double value = 0;         ///< what was largest
  double peers_median = 0;  ///< the same of all other ranks; 0 where there are none
  bool operator==(const NaiveFinding&) const = default;
};

// Rules that people go by, to compare with. Both always claim something where there is anything to look at. Of equals
// the lowest rank is taken. The order of patterns does not matter.

/// The rank with the largest total time of any function, as a share of its window.
std::optional<NaiveFinding> largest_total(std::span<const RankPattern> patterns);

/// The rank whose collectives take longest, on the mean over all of them, in ms; its function is the one that takes
/// most of that time.
std::optional<NaiveFinding> longest_collective(std::span<const RankPattern> patterns);

}  // namespace eroica
