#include "sample/pm_reduction.h"

#include <algorithm>
#include <cmath>

namespace eroica {

bool PmReduction::add(int64_t start_ns, int64_t end_ns, std::span<const double> values) {
  if (!begun_) begin_ns_ = start_ns;
  begun_ = true;
  const size_t count = std::min(values.size(), sums_.size());
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    Sum& sum = sums_[i];
    if (sum.count == 0) sum.first = values[i];
    const double difference = values[i] - sum.first;
    sum.sum += difference;
    sum.squares += difference * difference;
    ++sum.count;
  }
  if (end_ns - begin_ns_ < period_ns_) return false;
  close(end_ns);
  return true;
}

void PmReduction::close(int64_t end_ns) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Sum& sum = sums_[i];
    PmAggregate& told = aggregates_[i];
    told = {.mean = 0, .deviation = 0, .count = sum.count};
    if (sum.count == 0) continue;
    const double mean = sum.sum / sum.count;
    told.mean = sum.first + mean;
    told.deviation = std::sqrt(std::max(0.0, sum.squares / sum.count - mean * mean));
  }
  std::ranges::fill(sums_, Sum());
  told_begin_ns_ = begin_ns_;
  told_end_ns_ = end_ns;
  begun_ = false;
}

}  // namespace eroica
