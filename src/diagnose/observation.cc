#include "diagnose/observation.h"

#include <limits>

namespace eroica {

bool looks_for_more(const Bounds& bounds) {
  return bounds.above || bounds.above_peers || bounds.above_peers_ratio || bounds.above_baseline_ratio;
}

Judgement judge(const Bounds& bounds, const SeenFact& seen) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  bool unknown = false;
  bool fails = false;
  const auto test = [&](const std::optional<double>& bound, const std::optional<double>& value, bool above) {
    if (!bound) return;
    if (!value) {
      unknown = true;
      return;
    }
    if (above ? *value < *bound : *value > *bound) fails = true;
  };
  const auto over = [&](const std::optional<double>& reference) -> std::optional<double> {
    if (!reference) return std::nullopt;
    if (*reference == 0) return seen.value == 0 ? 1.0 : kMost;
    return seen.value / *reference;
  };
  test(bounds.above, seen.value, true);
  test(bounds.below, seen.value, false);
  if (seen.peers_median) {
    test(bounds.above_peers, seen.value - *seen.peers_median, true);
    test(bounds.below_peers, *seen.peers_median - seen.value, true);
  } else {
    unknown = unknown || bounds.above_peers || bounds.below_peers;
  }
  test(bounds.above_peers_ratio, over(seen.peers_median), true);
  test(bounds.below_peers_ratio, over(seen.peers_median), false);
  test(bounds.above_baseline_ratio, over(seen.baseline), true);
  test(bounds.below_baseline_ratio, over(seen.baseline), false);
  if (fails) return Judgement::kFails;
  return unknown ? Judgement::kUnknown : Judgement::kHolds;
}

}  // namespace eroica
