#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "pattern/hardware.h"
#include "pattern/pattern.h"
#include "steps/step_finder.h"

namespace eroica {

/// Books every instant of the window once: to a time class, to the step it lies in, and to the function that
/// explains it. Times are ns since the window's start; instants outside the window are ignored.
class Attribution {
 public:
  /// `keep_executions`: also remember when each function was critical, for its use of hardware.
  Attribution(int64_t window_ns, std::span<const Step> steps, int64_t steps_origin_ns, bool keep_executions);

  /// [from, to) belongs to `time_class`; `slot` (kNoSlot: nobody) explains it.
  void add(int64_t from_ns, int64_t to_ns, TimeClass time_class, uint32_t slot);

  /// Compute that did so much work began then; it counts for the step that holds this instant.
  void add_work(int64_t start_ns, double work) {
    const size_t step = step_at(start_ns);
    if (step < steps_.size() && steps_[step].start_ns <= start_ns) {
      step_work_[step] += work;
    }
  }

  /// Device compute of such a duration that was launched then, as add_work.
  void add_launched(int64_t launch_ns, int64_t duration_ns, double work) {
    last_launch_ns_ = std::max(last_launch_ns_, launch_ns);
    const size_t step = step_at(launch_ns);
    if (step < steps_.size() && steps_[step].start_ns <= launch_ns) {
      step_work_[step] += work;
      step_launched_ns_[step] += duration_ns;
    }
  }

  [[nodiscard]] const Budget& budget() const { return budget_; }
  [[nodiscard]] const std::vector<Budget>& step_budgets() const { return step_budgets_; }
  [[nodiscard]] int64_t exposed_ns(uint32_t slot) const;
  [[nodiscard]] const std::vector<double>& step_work() const { return step_work_; }
  /// What add_launched was told of a step; 0 where the step began before the window, or ended after the last launch
  /// whose work was seen.
  [[nodiscard]] int64_t launched_ns(size_t step) const;
  /// Exposed time per step in ns; empty when the function never explained anything.
  [[nodiscard]] std::span<const int64_t> step_exposed_ns(uint32_t slot) const;
  /// When it was critical, by start; at most kMaxExecutions, neighbours joined.
  [[nodiscard]] std::vector<Interval> executions(uint32_t slot) const;

  static constexpr size_t kMaxExecutions = 4096;

 private:
  struct Function {
    int64_t exposed_ns = 0;
    std::vector<int64_t> steps;
    std::vector<Interval> executions;
  };
  // The first step that ends after this time.
  size_t step_at(int64_t time_ns) {
    // Calls mostly come in order of time, so the last step is a good guess.
    const bool is_last = (last_step_ == 0 || steps_[last_step_ - 1].end_ns <= time_ns) &&
                         (last_step_ == steps_.size() || time_ns < steps_[last_step_].end_ns);
    return is_last ? last_step_ : last_step_ = find_step(time_ns);
  }
  [[nodiscard]] size_t find_step(int64_t time_ns) const;

  Function& explain(int64_t from_ns, int64_t to_ns, uint32_t slot) {
    if (slot >= functions_.size()) {
      functions_.resize(std::max<size_t>(slot + 1, functions_.size() * 2));
    }
    Function& function = functions_[slot];
    if (function.exposed_ns == 0) {
      begin_series(function);
    }
    function.exposed_ns += to_ns - from_ns;
    if (keep_executions_) {
      keep_execution(function, {from_ns, to_ns});
    }
    return function;
  }
  void begin_series(Function& function);
  static void keep_execution(Function& function, Interval execution);

  int64_t window_ns_;
  bool keep_executions_;
  std::vector<Interval> steps_;  // since the window's start, disjoint, ascending
  size_t last_step_ = 0;
  size_t series_left_;  // how many step counters may still be allocated
  Budget budget_{};
  std::vector<Budget> step_budgets_;
  std::vector<double> step_work_;
  std::vector<int64_t> step_launched_ns_;
  int64_t last_launch_ns_ = 0;
  std::vector<Function> functions_;  // by slot
};

}  // namespace eroica
