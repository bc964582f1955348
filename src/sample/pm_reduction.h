#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace eroica {

/// Mean and deviation of a metric over a short time.
struct PmAggregate {
  double mean = 0;
  double deviation = 0;
  uint32_t count = 0;  ///< 0: nothing was told of it
};

/// Reduces a stream of samples, ten thousand a second, to aggregates of fixed length as it comes in.
class PmReduction {
 public:
  PmReduction(size_t metrics, int64_t period_ns) : period_ns_(period_ns), sums_(metrics), aggregates_(metrics) {}

  /// A sample with a value for each metric; what is not finite counts as not told. True: it ended a period, of which
  /// aggregates() tells until the next call.
  bool add(int64_t start_ns, int64_t end_ns, std::span<const double> values);
  [[nodiscard]] const std::vector<PmAggregate>& aggregates() const { return aggregates_; }
  /// From when to when the period that ended last had samples.
  [[nodiscard]] int64_t begin_ns() const { return told_begin_ns_; }
  [[nodiscard]] int64_t end_ns() const { return told_end_ns_; }

 private:
  struct Sum {
    double first = 0;  // values are summed as differences from it, which keeps the digits
    double sum = 0;
    double squares = 0;
    uint32_t count = 0;
  };
  void close(int64_t end_ns);

  int64_t period_ns_;
  std::vector<Sum> sums_;
  std::vector<PmAggregate> aggregates_;
  int64_t begin_ns_ = 0;
  bool begun_ = false;
  int64_t told_begin_ns_ = 0;
  int64_t told_end_ns_ = 0;
};

}  // namespace eroica
