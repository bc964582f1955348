#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace eroica {

/// A mergeable sketch of non-negative integers (durations in ns): counts in log-linear buckets of 1/32 octave
/// relative width, so that a quantile is off by at most 1/64 of its value. Deterministic; merging is exact,
/// associative and commutative. After HdrHistogram and DDSketch (Masson et al., VLDB 2019).
class QuantileSketch {
 public:
  static constexpr int kSubBits = 5;
  static constexpr uint16_t kMaxBucket = 1887;  ///< bucket_of(INT64_MAX)
  /// The bucket of a value (negative values count as 0), monotone in the value.
  static uint16_t bucket_of(int64_t value);
  /// The smallest value of a bucket, and its middle.
  static int64_t bucket_low(uint16_t bucket);
  static int64_t bucket_middle(uint16_t bucket);

  void add(int64_t value, uint64_t count = 1) { add_to(bucket_of(value), count); }
  /// Where the buckets of recent values stand in one sketch.
  using Places = std::array<uint8_t, 32>;
  /// Adds a value; quicker where many are alike and each is added with the same `places`.
  void add(int64_t value, Places& places);
  void merge(const QuantileSketch& other);
  /// The value at quantile q in [0, 1] (nearest rank), 0 when empty.
  [[nodiscard]] int64_t quantile(double q) const;
  [[nodiscard]] uint64_t count() const { return count_; }
  /// Joins neighbouring buckets until at most `buckets` are left, keeping the count; the error grows accordingly.
  /// Where quantiles matter most, the upper end, buckets are joined last.
  void compact(size_t buckets);

  /// Non-empty buckets, ascending: (bucket, count).
  [[nodiscard]] const std::vector<std::pair<uint16_t, uint64_t>>& buckets() const { return buckets_; }
  /// Any order; equal buckets are summed, empty ones dropped, ones beyond kMaxBucket taken as kMaxBucket.
  static QuantileSketch from_buckets(std::vector<std::pair<uint16_t, uint64_t>> buckets);
  bool operator==(const QuantileSketch&) const = default;

 private:
  size_t add_to(uint16_t bucket, uint64_t count);

  std::vector<std::pair<uint16_t, uint64_t>> buckets_;  // sorted by bucket
  uint64_t count_ = 0;
};

}  // namespace eroica
