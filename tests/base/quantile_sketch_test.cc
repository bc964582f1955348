#include "base/quantile_sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eroica {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// Durations over all magnitudes, not only small ones.
rc::Gen<int64_t> duration() {
  return rc::gen::apply(
      [](int64_t value, int shift) { return static_cast<int64_t>((static_cast<uint64_t>(value) & kMax) >> shift); },
      rc::gen::arbitrary<int64_t>(), rc::gen::inRange(0, 63));
}

QuantileSketch sketch_of(const std::vector<int64_t>& values) {
  QuantileSketch sketch;
  for (int64_t value : values) {
    sketch.add(value);
  }
  return sketch;
}

/// Nearest rank over all values: the slow, obvious way.
int64_t exact_quantile(std::vector<int64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(q * static_cast<double>(values.size()))));
  return values[rank - 1];
}

TEST(QuantileSketch, TellsTheMedianAndTailOfKernelTimes) {
  QuantileSketch sketch;
  for (int64_t i = 1; i <= 1000; ++i) {
    sketch.add(i * 1000);
  }
  EXPECT_EQ(sketch.count(), 1000u);
  EXPECT_NEAR(static_cast<double>(sketch.quantile(0.5)), 500e3, 500e3 / 64);
  EXPECT_NEAR(static_cast<double>(sketch.quantile(0.99)), 990e3, 990e3 / 64);
}

TEST(QuantileSketch, EmptyAnswersZero) {
  EXPECT_EQ(QuantileSketch().quantile(0.5), 0);
  EXPECT_EQ(QuantileSketch().count(), 0u);
}

TEST(QuantileSketch, TakesAnyQAndAnyValue) {
  QuantileSketch sketch = sketch_of({-5, 0, kMax});
  EXPECT_EQ(sketch.quantile(-1), 0);
  EXPECT_EQ(sketch.quantile(std::nan("")), 0);
  EXPECT_GE(sketch.quantile(2), kMax - kMax / 64);
  sketch.add(7, 0);
  EXPECT_EQ(sketch.count(), 3u);
}

TEST(QuantileSketch, CountsSaturate) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  QuantileSketch sketch;
  sketch.add(10, most);
  sketch.add(10, 5);
  sketch.add(20, most);
  EXPECT_EQ(sketch.count(), most);
  EXPECT_EQ(sketch.buckets().size(), 2u);
  EXPECT_EQ(sketch.quantile(0.5), 10);
}

TEST(QuantileSketch, IsSmallWhenIdle) { EXPECT_LE(sizeof(QuantileSketch), 64u); }

TEST(QuantileSketch, EveryBucketBeginsWhereItSays) {
  EXPECT_EQ(QuantileSketch::bucket_of(kMax), QuantileSketch::kMaxBucket);
  int64_t before = -1;
  for (uint16_t bucket = 0; bucket <= QuantileSketch::kMaxBucket; ++bucket) {
    const int64_t low = QuantileSketch::bucket_low(bucket);
    ASSERT_GT(low, before);
    ASSERT_EQ(QuantileSketch::bucket_of(low), bucket);
    ASSERT_EQ(QuantileSketch::bucket_of(QuantileSketch::bucket_middle(bucket)), bucket);
    if (bucket > 0) {
      ASSERT_EQ(QuantileSketch::bucket_of(low - 1), bucket - 1);
    }
    before = low;
  }
}

RC_GTEST_PROP(QuantileSketch, IsWithinA64thOfTheExactQuantile, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<int64_t>>(duration()));
  const QuantileSketch sketch = sketch_of(values);
  for (double q : {0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
    const int64_t exact = exact_quantile(values, q);
    RC_ASSERT(std::abs(sketch.quantile(q) - exact) <= exact / 64);
  }
}

RC_GTEST_PROP(QuantileSketch, MergingIsExactAssociativeAndCommutative, ()) {
  const auto values = rc::gen::container<std::vector<int64_t>>(duration());
  const auto a = *values;
  const auto b = *values;
  const auto c = *values;
  std::vector<int64_t> all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());

  QuantileSketch left = sketch_of(a);
  left.merge(sketch_of(b));
  left.merge(sketch_of(c));
  QuantileSketch right = sketch_of(c);
  right.merge(sketch_of(b));
  QuantileSketch other = sketch_of(a);
  other.merge(right);
  RC_ASSERT(left == sketch_of(all));
  RC_ASSERT(other == left);
}

RC_GTEST_PROP(QuantileSketch, OrderOfAddingDoesNotMatter, ()) {
  auto values = *rc::gen::container<std::vector<int64_t>>(duration());
  const QuantileSketch forward = sketch_of(values);
  std::reverse(values.begin(), values.end());
  RC_ASSERT(forward == sketch_of(values));
  RC_ASSERT(forward == QuantileSketch::from_buckets(forward.buckets()));
}

RC_GTEST_PROP(QuantileSketch, CompactingKeepsTheCountAndOnlyJoinsNeighbours, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<int64_t>>(duration()));
  const auto limit = *rc::gen::inRange<size_t>(1, 30);
  const QuantileSketch before = sketch_of(values);
  QuantileSketch after = before;
  after.compact(limit);
  RC_ASSERT(after.count() == before.count());
  RC_ASSERT(after.buckets().size() == std::min(limit, before.buckets().size()));
  // Every joined bucket holds a whole run of the old ones.
  auto old = before.buckets().begin();
  for (const auto& [bucket, count] : after.buckets()) {
    uint64_t run = 0;
    bool has_bucket = false;
    while (run < count) {
      has_bucket = has_bucket || old->first == bucket;
      run += (old++)->second;
    }
    RC_ASSERT(run == count);
    RC_ASSERT(has_bucket);
  }
  QuantileSketch again = after;
  again.compact(limit);
  RC_ASSERT(again == after);
}

TEST(QuantileSketch, CompactingKeepsTheUpperEnd) {
  QuantileSketch sketch;
  for (int64_t i = 0; i < 1000; ++i) {
    sketch.add(100'000 + i * 100);  // a spread body
  }
  sketch.add(5'000'000);  // one stall
  sketch.add(9'000'000);  // and a longer one
  const int64_t p50 = sketch.quantile(0.5);
  const int64_t longest = sketch.quantile(1);
  const int64_t second = sketch.quantile(0.999);
  sketch.compact(12);
  EXPECT_EQ(sketch.quantile(1), longest);
  EXPECT_EQ(sketch.quantile(0.999), second);
  EXPECT_NEAR(static_cast<double>(sketch.quantile(0.5)), static_cast<double>(p50), static_cast<double>(p50) / 16);
}

TEST(QuantileSketch, FromBucketsMakesSenseOfAnything) {
  const QuantileSketch sketch = QuantileSketch::from_buckets({{70, 1}, {65535, 2}, {3, 0}, {70, 4}, {1, 1}});
  const std::vector<std::pair<uint16_t, uint64_t>> expected{{1, 1}, {70, 5}, {QuantileSketch::kMaxBucket, 2}};
  EXPECT_EQ(sketch.buckets(), expected);
  EXPECT_EQ(sketch.count(), 8u);
}

}  // namespace
}  // namespace eroica
