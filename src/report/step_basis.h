#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pattern/pattern.h"

namespace eroica {

/// Over what a rank's figures "per step" are taken.
struct StepBasis {
  bool per_window = false;     ///< no steps were found: the window counts as one step
  bool scaled_window = false;  ///< … and is scaled to the mean step of the ranks that have steps
  /// The host ends steps before its device does: single steps' durations say nothing, their mean does.
  bool ahead = false;
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

/// From a sum over the window of a function or collective to a mean counted step: by the part of its critical time
/// that lies in the counted steps where that is known well enough, else as if it were spread evenly.
double window_to_step(const StepBasis& basis, std::span<const uint32_t> step_exposed_us, int64_t exposed_ns);

/// A rank with its basis: what the sections of the document are built from.
struct RankView {
  const RankPattern* pattern;
  StepBasis basis;
};

/// Makes the ranks' bases comparable: where steps are numbered by the job (ProfilerStep#N, the probe), means are taken
/// over the steps that all ranks have, if those are at least half of what any has; ranks without steps are scaled to
/// the mean step of the others. Tells in `notes` what was done.
void make_comparable(std::vector<RankView>& ranks, std::vector<std::string>& notes);

}  // namespace eroica
