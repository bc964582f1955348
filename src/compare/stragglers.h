#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compare/job.h"
#include "compare/peers.h"

namespace eroica {

/// Ranks of one peer set whose value stands out from the others'.
struct Stragglers {
  std::vector<uint32_t> ranks;  ///< indices in Job::ranks, ascending
  double excess = 0;            ///< mean above the others' median
  double gap = 0;               ///< between the least of them and the most of the others
  double spread = 0;            ///< of the others: 1.4826 × MAD in large sets, range in small ones
  size_t others = 0;
};

/// Splits off the ranks with the largest values, peer set by peer set: in sets of 16 and more those beyond the median
/// by `least` and by 6 robust deviations, or a half (at least a third) of the ranks whose distance to all others is
/// `least` and 3 robust deviations of either part; in smaller ones at most half, above the widest gap, if that gap is
/// at least `least` and as wide as the others' range (with three others 1.5 times, with two 3 times as wide). Peeled
/// repeatedly, so that two culprits of different size are two results; at most `most` in all, the largest excess first.
/// NaN values do not take part.
std::vector<Stragglers> find_stragglers(const Peers& peers, const std::function<double(uint32_t)>& value_of,
                                        double least, size_t most = 4);

}  // namespace eroica
