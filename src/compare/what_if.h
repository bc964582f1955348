#pragma once

#include <vector>

#include "compare/job.h"
#include "compare/peers.h"

namespace eroica {

/// What evenness saves that a window's sums do not show, shares of the window.
struct EvenSavings {
  double between_steps = 0;  ///< another rank is the slowest in each step (StepVariation::moving_share)
  double transfers = 0;      ///< transfers beyond the shortest of their like (transfers_beyond_shortest)
};

/// The step as the ranks' own work and their order determine it: within a stage the slowest rank counts, since
/// collectives make the others wait; a pipeline of S stages and M micro-batches takes ((M − 1)·max + Σ) / M of its
/// stages' times (1F1B; Narayanan et al., SC '21; of interleaved schedules, M is how often a micro-batch passes a stage
/// times the micro-batches). Transfers stay as they are but where the contrary is said.
class StepModel {
 public:
  StepModel(const Job& job, const Peers& peers);
  /// Own time of the slowest path, as share of the window, with `saved` (by rank, same unit) taken from each rank.
  [[nodiscard]] double own_share(const std::vector<double>& saved) const;
  /// Milliseconds that a step would be shorter.
  [[nodiscard]] double lost_ms(const std::vector<double>& saved) const;
  /// Step time over that with every rank at the median of its peers.
  [[nodiscard]] double slowdown() const;
  /// … with every rank at the mean of all ranks of all stages, without what else evenness would save.
  [[nodiscard]] double slowdown_even(const EvenSavings& more = {}) const;

 private:
  [[nodiscard]] double path(const std::vector<double>& own) const;
  [[nodiscard]] double ratio_to(double other, double saved_beside = 0) const;

  const Job* job_;
  const Peers* peers_;
  std::vector<double> own_;  // by rank
  double actual_ = 0;
};

}  // namespace eroica
