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
}

size_t Attribution::step_at(int64_t time_ns) {
  // Calls mostly come in order of time, so the last step is a good guess.
  if (last_step_ >= steps_.size() || time_ns < steps_[last_step_].start_ns) {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), time_ns,
                                        [](int64_t time, const Interval& step) { return time < step.start_ns; });
    last_step_ = after == steps_.begin() ? 0 : static_cast<size_t>(after - steps_.begin()) - 1;
  }
  while (last_step_ < steps_.size() && steps_[last_step_].end_ns <= time_ns) {
    ++last_step_;
  }
  return last_step_;
}

void Attribution::add(int64_t from_ns, int64_t to_ns, TimeClass time_class, uint32_t slot) {
  from_ns = std::max<int64_t>(from_ns, 0);
  to_ns = std::min(to_ns, window_ns_);
  if (from_ns >= to_ns) {
    return;
  }
  budget_[static_cast<size_t>(time_class)] += to_ns - from_ns;
  Function* function = nullptr;
  if (slot != kNoSlot) {
    if (slot >= functions_.size()) {
      functions_.resize(std::max<size_t>(slot + 1, functions_.size() * 2));
    }
    function = &functions_[slot];
    function->exposed_ns += to_ns - from_ns;
    if (function->steps.empty() && series_left_ >= steps_.size()) {
      function->steps.resize(steps_.size());
      series_left_ -= steps_.size();
    }
    if (keep_executions_) {
      std::vector<Interval>& executions = function->executions;
      if (!executions.empty() && executions.back().end_ns == from_ns) {
        executions.back().end_ns = to_ns;
      } else if (executions.size() < kMaxExecutions) {
        executions.push_back({from_ns, to_ns});
      }
    }
  }
  for (size_t i = step_at(from_ns); i < steps_.size() && steps_[i].start_ns < to_ns; ++i) {
    const int64_t part = std::min(to_ns, steps_[i].end_ns) - std::max(from_ns, steps_[i].start_ns);
    step_budgets_[i][static_cast<size_t>(time_class)] += part;
    if (function != nullptr && !function->steps.empty()) {
      function->steps[i] += part;
    }
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
