#include "pattern/attribution.h"

#include <algorithm>

#include "pattern/function_slots.h"

namespace eroica {
namespace {
constexpr size_t kMaxSeriesCounters = size_t{1} << 21;
}

Attribution::Attribution(int64_t window_ns, std::span<const Step> steps, int64_t steps_origin_ns, bool keep_executions)
    : window_ns_(window_ns), keep_executions_(keep_executions), series_left_(kMaxSeriesCounters) {
  steps_.reserve(steps.size());
  for (const Step& step : steps) {
    steps_.push_back({step.start_ns - steps_origin_ns, step.end_ns - steps_origin_ns});
  }
  step_budgets_.resize(steps_.size());
  step_work_.resize(steps_.size());
  step_launched_ns_.resize(steps_.size());
}

int64_t Attribution::launched_ns(size_t step) const {
  return steps_[step].start_ns < 0 || steps_[step].end_ns > last_launch_ns_ ? 0 : step_launched_ns_[step];
}

size_t Attribution::find_step(int64_t time_ns) const {
  const auto after =
      std::partition_point(steps_.begin(), steps_.end(), [&](const Interval& step) { return step.end_ns <= time_ns; });
  return static_cast<size_t>(after - steps_.begin());
}

void Attribution::begin_series(Function& function) {
  if (series_left_ >= steps_.size()) {
    function.steps.resize(steps_.size());
    series_left_ -= steps_.size();
  }
}

void Attribution::keep_execution(Function& function, Interval execution) {
  std::vector<Interval>& executions = function.executions;
  if (!executions.empty() && executions.back().end_ns == execution.start_ns) {
    executions.back().end_ns = execution.end_ns;
  } else if (executions.size() < kMaxExecutions) {
    executions.push_back(execution);
  }
}

void Attribution::add(int64_t from_ns, int64_t to_ns, TimeClass time_class, uint32_t slot) {
  from_ns = std::max<int64_t>(from_ns, 0);
  to_ns = std::min(to_ns, window_ns_);
  if (from_ns >= to_ns) {
    return;
  }
  budget_[static_cast<size_t>(time_class)] += to_ns - from_ns;
  int64_t* series = slot == kNoSlot ? nullptr : explain(from_ns, to_ns, slot).steps.data();
  const auto book = [&](size_t step, int64_t ns) {
    step_budgets_[step][static_cast<size_t>(time_class)] += ns;
    if (series != nullptr) {
      series[step] += ns;
    }
  };
  size_t i = step_at(from_ns);
  if (i < steps_.size() && steps_[i].start_ns <= from_ns && to_ns <= steps_[i].end_ns) {  // as nearly always
    book(i, to_ns - from_ns);
    return;
  }
  for (; i < steps_.size() && steps_[i].start_ns < to_ns; ++i) {
    book(i, std::min(to_ns, steps_[i].end_ns) - std::max(from_ns, steps_[i].start_ns));
  }
}

int64_t Attribution::exposed_ns(uint32_t slot) const {
  return slot < functions_.size() ? functions_[slot].exposed_ns : 0;
}

std::span<const int64_t> Attribution::step_exposed_ns(uint32_t slot) const {
  return slot < functions_.size() ? std::span<const int64_t>(functions_[slot].steps) : std::span<const int64_t>();
}

std::vector<Interval> Attribution::executions(uint32_t slot) const {
  std::vector<Interval> sorted = slot < functions_.size() ? functions_[slot].executions : std::vector<Interval>();
  std::sort(sorted.begin(), sorted.end(), [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  return sorted;
}

}  // namespace eroica
