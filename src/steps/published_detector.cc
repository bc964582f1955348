#include "steps/published_detector.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr size_t kMeanOf = 50;       ///< N
constexpr size_t kShortestOf = 200;  ///< K
constexpr double kSlower = 1.05;

}  // namespace

SlowDetector::Change PublishedDetector::push(const JobStep& step) {
  if (recent_.size() < kMeanOf) {
    recent_.push_back(step);
  } else {
    JobStep& oldest = recent_[count_ % kMeanOf];
    sum_ -= oldest.seconds;
    oldest = step;
  }
  ++count_;
  sum_ += step.seconds;
  if (recent_.size() < kMeanOf) return SlowDetector::Change::kNone;

  const double mean = sum_ / kMeanOf;
  means_.push_back(mean);
  if (means_.size() > kShortestOf) means_.pop_front();
  const double shortest = std::ranges::min(means_);
  const bool slow = mean > kSlower * shortest;
  if (slow == slow_) return SlowDetector::Change::kNone;
  slow_ = slow;
  if (!slow) return SlowDetector::Change::kRecovered;
  const JobStep& first = recent_[count_ % kMeanOf];
  finding_ = {.kind = SlowKind::kShift,
              .onset_step = first.number,
              .onset_unix_ns = first.unix_ns,
              .level_ms = mean * 1e3,
              .baseline_ms = shortest * 1e3,
              .excess_ms = (mean - shortest) * 1e3,
              .baseline_mean_ms = shortest * 1e3,
              .steps = kMeanOf,
              .healthy_steps = kMeanOf,
              .confidence = 0.5};
  return SlowDetector::Change::kSlow;
}

void PublishedDetector::restart() { *this = {}; }

BlockedPolicy published_blocked_policy() { return {.mean_multiple = 5, .least_s = 0, .pause_multiple = 0}; }

}  // namespace eroica
