#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "agent/window.h"
#include "steps/step_record.h"

namespace eroica {

/// The last steps of one rank, by its own clocks: what a window cost the job. Ranks that wait for each other are all as
/// slow as the slowest, so one speaks for all.
class StepPace {
 public:
  /// Takes records of the first rank that it meets.
  void push(const StepRecord& record);
  /// To speak for another rank, since that one has ended.
  void leave(int32_t rank);

  /// Training time that a window cost: how much longer than usual the steps took from the profilers' start-up until
  /// `done_unix_ns`, when the last file was written. Usual is the mean of the steps before: of a slow job those since
  /// the window was asked for, or, where they are few, since `onset_unix_ns` (0: not slow), which may be told too
  /// early; of others those of 20 s. Absent where fewer than three are known.
  [[nodiscard]] std::optional<double> cost_ms(const WindowPlan& plan, int64_t onset_unix_ns,
                                              int64_t done_unix_ns) const;

 private:
  struct End {
    int64_t unix_ns = 0;
    int64_t monotonic_ns = 0;
    int64_t step = 0;
  };
  int32_t rank_ = -1;
  std::deque<End> ends_;
};

}  // namespace eroica
