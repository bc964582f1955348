#pragma once

#include "simulate/plant.h"
#include "simulate/rank_writer.h"

namespace eroica {

/// Puts what faults do inside a program at the places where a real job would show it.
class DeedWriter {
 public:
  DeedWriter(const Plant& plant, int rank);

  void after_fetch(RankWriter& writer) const;
  void in_upload(RankWriter& writer) const;
  void before_forward(RankWriter& writer) const;
  /// Once a step, in its first micro-batch.
  void in_layer(RankWriter& writer, int layer, int layers) const;
  /// For the layer that follows.
  void choose_kernels(RankWriter& writer) const;
  void step_end(RankWriter& writer) const;
  [[nodiscard]] int repeats(int step) const;
  [[nodiscard]] bool evaluates(int step) const;
  /// The size of gradients as this rank gives it to the collective.
  [[nodiscard]] double mismatched_elements(int step, double elements) const;

 private:
  [[nodiscard]] bool acts(const Deed& deed, int step) const;
  template <typename Use>
  void each(DeedKind kind, int step, Use use) const;

  const Plant& plant_;
  int rank_;
};

/// Does the deed happen on this rank in this step?
bool deed_acts(const Plant& plant, const Deed& deed, int rank, int step);

}  // namespace eroica
