#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "steps/slow_detector.h"

namespace eroica {

/// The rule published for EROICA (NSDI '26), to compare with: the mean of the last N = 50 steps more than 5 % above the
/// shortest such mean among the last K = 200. Steps are those that StepSeries joins; the published rule for blocked
/// jobs, nothing for five mean steps, is a BlockedPolicy (published_blocked_policy).
class PublishedDetector {
 public:
  /// Takes a step. kSlow: finding() tells of it.
  SlowDetector::Change push(const JobStep& step);
  void restart();
  [[nodiscard]] const SlowFinding& finding() const { return finding_; }

 private:
  std::vector<JobStep> recent_;  // a ring of the last N
  uint64_t count_ = 0;
  double sum_ = 0;
  std::deque<double> means_;  // the last K
  bool slow_ = false;
  SlowFinding finding_;
};

BlockedPolicy published_blocked_policy();

}  // namespace eroica
