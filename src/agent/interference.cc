#include "agent/interference.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr size_t kMostEnds = 32'768;
constexpr int64_t kReferenceNs = 20'000'000'000;
constexpr int64_t kStartUpNs = 1'500'000'000;  // profilers warm up for a second, rounded to their own ticks
constexpr int64_t kFewSteps = 20;
constexpr int64_t kLeastSteps = 3;

}  // namespace

void StepPace::push(const StepRecord& record) {
  if (rank_ < 0) rank_ = record.rank;
  if (rank_ != record.rank) return;
  if (!ends_.empty() && record.step <= ends_.back().step) ends_.clear();  // it began again
  if (ends_.size() == kMostEnds) ends_.pop_front();
  ends_.push_back({record.unix_ns, record.monotonic_ns, record.step});
}

void StepPace::leave(int32_t rank) {
  if (rank != rank_) return;
  rank_ = -1;
  ends_.clear();
}

std::optional<double> StepPace::cost_ms(const WindowPlan& plan, int64_t onset_unix_ns, int64_t done_unix_ns) const {
  // Stretches begin and end where a step ended.
  const auto first_since = [&](int64_t unix_ns) { return std::ranges::lower_bound(ends_, unix_ns, {}, &End::unix_ns); };
  const auto disturbed = first_since(plan.start_unix_ns - kStartUpNs);
  const auto last = first_since(done_unix_ns + 1);
  if (disturbed == ends_.begin() || last <= disturbed) return std::nullopt;
  const End& from = *(disturbed - 1);
  const End& to = *(last - 1);
  const auto steps_since = [&](int64_t unix_ns) {
    const auto first = first_since(unix_ns);
    return first < disturbed ? from.step - first->step : 0;
  };
  int64_t usual_from_ns = plan.asked_unix_ns;
  if (onset_unix_ns == 0 || steps_since(usual_from_ns) < kFewSteps) {
    usual_from_ns = std::max(onset_unix_ns, plan.asked_unix_ns - kReferenceNs);
  }
  const int64_t usual_steps = steps_since(usual_from_ns);
  if (usual_steps < kLeastSteps) return std::nullopt;
  const auto ms_between = [](const End& a, const End& b) {
    return (static_cast<double>(b.monotonic_ns) - static_cast<double>(a.monotonic_ns)) * 1e-6;
  };
  const double usual_ms = ms_between(*first_since(usual_from_ns), from) / static_cast<double>(usual_steps);
  return std::max(0.0, ms_between(from, to) - usual_ms * static_cast<double>(to.step - from.step));
}

}  // namespace eroica
