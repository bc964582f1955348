#pragma once

#include <vector>

#include "compare/job.h"
#include "compare/peers.h"

namespace eroica {

/// The step as the ranks' own work and their order determine it: within a stage the slowest rank counts, since
/// collectives make the others wait; a pipeline of S stages and M micro-batches takes ((M − 1)·max + Σ) / M of its
/// stages' times (1F1B; Narayanan et al., SC '21). Transfers stay as they are.
class StepModel {
 public:
  StepModel(const Job& job, const Peers& peers);
  /// Own time of the slowest path, as share of the window, with `saved` (by rank, same unit) taken from each rank.
  [[nodiscard]] double own_share(const std::vector<double>& saved) const;
  /// Milliseconds that a step would be shorter.
  [[nodiscard]] double lost_ms(const std::vector<double>& saved) const;
  /// Step time over that with every rank at the median of its peers.
  [[nodiscard]] double slowdown() const;
  /// … with every rank at the mean of all ranks of all stages.
  [[nodiscard]] double slowdown_even() const;

 private:
  [[nodiscard]] double path(const std::vector<double>& own) const;
  [[nodiscard]] double ratio_to(double other) const;

  const Job* job_;
  const Peers* peers_;
  std::vector<double> own_;  // by rank
  double actual_ = 0;
};

}  // namespace eroica
