#include "simulate/core_clock.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr int64_t kQuotaPeriodNs = 100'000'000;

}  // namespace

CoreClock::CoreClock(const Plant& plant, int rank)
    : stolen_(core_slices(plant, rank)),
      interpreter_(interpreter_slices(plant, rank)),
      cost_(1 / (plant.processes[rank].speed * plant.hosts[plant.job.host_of(rank)].cpu_clock *
                 (1 - plant.processes[rank].interrupts))),
      quota_cores_(plant.processes[rank].quota_cores),
      burn_(1.3) {}

void CoreClock::note(int64_t start, int64_t end, HostActivity activity) {
  if (end <= start) return;
  if (!intervals_.empty() && intervals_.back().activity == activity && intervals_.back().end_ns == start) {
    intervals_.back().end_ns = end;
  } else {
    intervals_.push_back({start, end, activity});
  }
}

/// Stops until the next period when the quota is used up. Returns when the thread may run.
int64_t CoreClock::throttle(int64_t t) {
  const int64_t period = t / kQuotaPeriodNs;
  if (period != period_) {
    period_ = period;
    used_ns_ = 0;
  }
  if (used_ns_ < quota_cores_ * kQuotaPeriodNs) return t;
  const int64_t next = (period + 1) * kQuotaPeriodNs;
  note(t, next, HostActivity::kThrottled);
  period_ = period + 1;
  used_ns_ = 0;
  return next;
}

int64_t CoreClock::run(int64_t t, int64_t ns, HostActivity activity, bool interpreted) {
  auto left = static_cast<int64_t>(static_cast<double>(ns) * cost_);
  while (left > 0) {
    int64_t most = left;
    if (quota_cores_ > 0) {
      t = throttle(t);
      const double allowed = (quota_cores_ * kQuotaPeriodNs - used_ns_) / burn_;
      most = std::min({most, static_cast<int64_t>(allowed) + 1, (period_ + 1) * kQuotaPeriodNs - t});
    }
    if (stolen_.share > 0) {
      const auto [start, end] = stolen_.at_or_after(t);
      if (start <= t) {
        note(t, end, HostActivity::kWaitCpu);
        t = end;
        continue;
      }
      most = std::min(most, start - t);
    }
    if (interpreted && interpreter_.share > 0) {
      const auto [start, end] = interpreter_.at_or_after(t);
      if (start <= t) {
        note(t, end, HostActivity::kSleep);
        t = end;
        continue;
      }
      most = std::min(most, start - t);
    }
    note(t, t + most, activity);
    used_ns_ += static_cast<double>(most) * burn_;
    t += most;
    left -= most;
  }
  return t;
}

int64_t CoreClock::wake(int64_t since, int64_t t) {
  if (quota_cores_ <= 0) {
    note(since, t, HostActivity::kSpin);
    if (stolen_.share <= 0) return t;
    const auto [start, end] = stolen_.at_or_after(t);
    if (start > t) return t;
    note(t, end, HostActivity::kWaitCpu);
    return end;
  }
  while (since < t) {
    since = throttle(since);
    if (since >= t) return since;
    const double allowed = (quota_cores_ * kQuotaPeriodNs - used_ns_) / burn_;
    const int64_t most =
        std::min({t - since, static_cast<int64_t>(allowed) + 1, (period_ + 1) * kQuotaPeriodNs - since});
    note(since, since + most, HostActivity::kSpin);
    used_ns_ += static_cast<double>(most) * burn_;
    since += most;
  }
  return since;
}

}  // namespace eroica
