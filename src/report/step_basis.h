#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pattern/pattern.h"

namespace eroica {

/// Over what a rank's figures "per step" are taken.
struct StepBasis {
  bool per_window = false;        ///< no steps were found: the window counts as one step
  std::vector<uint32_t> counted;  ///< indices in RankPattern::steps; empty when per_window
  double step_ns = 0;             ///< mean duration of the counted steps; the window's when per_window
  double scale = 1;               ///< from a sum over the window to a mean step

  [[nodiscard]] double per_step_ms(int64_t window_total_ns) const {
    return static_cast<double>(window_total_ns) * scale * 1e-6;
  }
};

/// The complete regular steps; where there are none, all steps; where none were found, the window.
StepBasis step_basis(const RankPattern& pattern);

/// Mean of a per-step series in µs over the counted steps, in ms.
double mean_step_ms(const StepBasis& basis, std::span<const uint32_t> series_us);

/// A rank with its basis: what the sections of the document are built from.
struct RankView {
  const RankPattern* pattern;
  StepBasis basis;
};

}  // namespace eroica
