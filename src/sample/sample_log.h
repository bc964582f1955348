#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/trace.h"

namespace eroica {

/// Gathers samples in the order of time. docs/signals.md names entities, metrics and units.
class SampleLog {
 public:
  /// What a window may have at most: some 26 MB as a file.
  static constexpr size_t kMostSamples = 200'000;

  explicit SampleLog(size_t most = kMostSamples) : most_(most) {}

  /// All that follows was seen at this time, which must not be before the last one of the same series.
  void at(int64_t unix_ns);
  [[nodiscard]] int64_t now_ns() const { return now_ns_; }
  void level(std::string_view entity, std::string_view metric, std::string_view unit, double value);
  /// By how much a counter grew a second since its last reading, times `scale`. The first one gives 0, one that is less
  /// than the last (it began anew) nothing.
  void growth(std::string_view entity, std::string_view metric, std::string_view unit, uint64_t counter,
              double scale = 1);

  [[nodiscard]] const SampleSet& samples() const { return samples_; }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] size_t lost() const { return lost_; }  ///< beyond the most

 private:
  struct Series {
    size_t index = 0;
    uint64_t counter = 0;
    int64_t at_ns = 0;
    bool read = false;
  };
  Series& series(std::string_view entity, std::string_view metric, std::string_view unit);
  void append(const Series& series, double value);

  size_t most_;
  size_t count_ = 0;
  size_t lost_ = 0;
  int64_t now_ns_ = 0;
  SampleSet samples_;
  std::unordered_map<std::string, Series> by_name_;
  std::string name_;
};

/// As a file of counter events: what read_samples() reads, and viewers of traces.
std::string samples_json(const SampleSet& samples);

}  // namespace eroica
