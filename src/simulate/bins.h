#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace eroica {

/// Time cut into intervals of one length: what was done in each, per unit of time.
class Bins {
 public:
  Bins(int64_t start_ns, int64_t end_ns, int64_t period_ns)
      : start_ns_(start_ns),
        period_ns_(period_ns),
        sums_(static_cast<size_t>(std::max<int64_t>(2, (end_ns - start_ns) / period_ns)), 0.0) {}

  /// Something of this intensity between two times.
  void add(int64_t from_ns, int64_t to_ns, double intensity = 1) {
    from_ns = std::max(from_ns, start_ns_);
    to_ns = std::min(to_ns, end_of(sums_.size() - 1));
    if (to_ns <= from_ns || intensity == 0) return;
    auto bin = static_cast<size_t>((from_ns - start_ns_) / period_ns_);
    while (from_ns < to_ns) {
      const int64_t until = std::min(to_ns, end_of(bin));
      sums_[bin] += static_cast<double>(until - from_ns) * intensity;
      from_ns = until;
      ++bin;
    }
  }
  /// An amount that is spread evenly between two times.
  void spread(int64_t from_ns, int64_t to_ns, double amount) {
    if (to_ns > from_ns) add(from_ns, to_ns, amount / static_cast<double>(to_ns - from_ns));
  }

  [[nodiscard]] size_t size() const { return sums_.size(); }
  [[nodiscard]] int64_t end_of(size_t bin) const { return start_ns_ + static_cast<int64_t>(bin + 1) * period_ns_; }
  [[nodiscard]] int64_t period_ns() const { return period_ns_; }
  /// Mean intensity in the interval.
  [[nodiscard]] double mean(size_t bin) const { return sums_[bin] / static_cast<double>(period_ns_); }

 private:
  int64_t start_ns_;
  int64_t period_ns_;
  std::vector<double> sums_;
};

}  // namespace eroica
