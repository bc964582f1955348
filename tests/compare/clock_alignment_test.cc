#include "compare/clock_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

namespace eroica {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kHour = 3'600'000 * kMs;

/// One key's collectives as two ranks see them: `other`'s clock is behind by `behind_ns`.
struct Pair {
  std::vector<CollectiveEnd> reference;
  std::vector<CollectiveEnd> other;
};

struct Shape {
  size_t steps = 40;
  size_t per_step = 3;        ///< collectives a step, at fixed places in it
  double step_noise_ms = 4;   ///< deviation of step times: what both ranks share
  double end_noise_ms = 0.3;  ///< deviation between the ranks' ends
  size_t cut_reference = 0;   ///< collectives missing at the front
  size_t cut_other = 0;
  int64_t behind_ns = 0;
  bool numbered = false;
  uint32_t seed = 1;
};

Pair collectives(const Shape& shape) {
  std::mt19937 random(shape.seed);
  std::normal_distribution<double> normal;
  Pair pair;
  double now_ms = 1000;
  size_t index = 0;
  for (size_t step = 0; step < shape.steps; ++step) {
    now_ms += 70 + normal(random) * shape.step_noise_ms;
    for (size_t k = 0; k < shape.per_step; ++k, ++index) {
      const double end_ms = now_ms + 5 * static_cast<double>(k * k);
      const auto end_ns = static_cast<int64_t>(end_ms * kMs);
      const auto late_ns = static_cast<int64_t>(normal(random) * shape.end_noise_ms * kMs);
      const int64_t sequence = shape.numbered ? static_cast<int64_t>(index) : -1;
      if (index >= shape.cut_reference) pair.reference.push_back({7, sequence, end_ns});
      if (index >= shape.cut_other) pair.other.push_back({7, sequence, end_ns + late_ns - shape.behind_ns});
    }
  }
  return pair;
}

TEST(AlignClocks, BySequenceNumbers) {
  for (const int64_t behind_ns : {int64_t{0}, 10 * kMs, -10 * kMs, kHour}) {
    const Pair pair = collectives({.cut_reference = 2, .cut_other = 5, .behind_ns = behind_ns, .numbered = true});
    const ClockAlignment alignment = align_clocks(pair.reference, pair.other);
    EXPECT_EQ(alignment.by, AlignedBy::kSequence);
    EXPECT_EQ(alignment.matched, 115U);
    EXPECT_NEAR(static_cast<double>(alignment.offset_ns - behind_ns), 0, 0.2 * kMs);
    EXPECT_LT(alignment.spread_ns, kMs);
  }
}

TEST(AlignClocks, ByIntervalsWhereThereAreNoNumbers) {
  for (const int64_t behind_ns : {int64_t{0}, 10 * kMs, -10 * kMs, kHour}) {
    const Pair pair = collectives({.cut_reference = 1, .cut_other = 5, .behind_ns = behind_ns});
    const ClockAlignment alignment = align_clocks(pair.reference, pair.other);
    EXPECT_EQ(alignment.by, AlignedBy::kIntervals) << alignment.why;
    EXPECT_EQ(alignment.matched, 115U);
    EXPECT_NEAR(static_cast<double>(alignment.offset_ns - behind_ns), 0, 0.2 * kMs);
    EXPECT_GT(alignment.correlation, 0.9);
  }
}

TEST(AlignClocks, OneCollectiveAStep) {
  const Pair pair = collectives({.per_step = 1, .cut_reference = 3, .behind_ns = kHour});
  const ClockAlignment alignment = align_clocks(pair.reference, pair.other);
  EXPECT_EQ(alignment.by, AlignedBy::kIntervals) << alignment.why;
  EXPECT_NEAR(static_cast<double>(alignment.offset_ns - kHour), 0, 0.2 * kMs);
}

TEST(AlignClocks, StepsThatAreAllAlikeAlignNowhere) {
  // No noise that the ranks share: any step could be any other.
  const Pair pair = collectives({.step_noise_ms = 0, .cut_other = 6, .behind_ns = 10 * kMs});
  const ClockAlignment alignment = align_clocks(pair.reference, pair.other);
  EXPECT_EQ(alignment.by, AlignedBy::kNothing);
  EXPECT_EQ(alignment.offset_ns, 0);
  EXPECT_THAT(alignment.why, ::testing::HasSubstr("fit nowhere clearly"));
}

TEST(AlignClocks, StrangersAlignNowhere) {
  for (uint32_t seed = 2; seed < 30; ++seed) {
    const Pair one = collectives({.seed = 1});
    const Pair two = collectives({.seed = seed});
    EXPECT_EQ(align_clocks(one.reference, two.other).by, AlignedBy::kNothing) << seed;
  }
}

TEST(AlignClocks, NothingInCommon) {
  Pair pair = collectives({});
  for (CollectiveEnd& end : pair.other) end.key = 8;
  EXPECT_EQ(align_clocks(pair.reference, pair.other).why, "it shares no barrier-like collective with the reference");
  EXPECT_EQ(align_clocks({}, {}).by, AlignedBy::kNothing);
  EXPECT_EQ(align_clocks(pair.reference, {}).by, AlignedBy::kNothing);
}

TEST(AlignClocks, TooFewToCompare) {
  const Pair pair = collectives({.steps = 2});
  EXPECT_EQ(align_clocks(pair.reference, pair.other).why,
            "too few collectives without sequence numbers to compare their intervals");
}

TEST(AlignClocks, NumbersThatCameTwiceAreOfNoUse) {
  Pair pair = collectives({.behind_ns = 10 * kMs, .numbered = true});
  pair.other.push_back({7, 3, 0});
  const ClockAlignment alignment = align_clocks(pair.reference, pair.other);
  EXPECT_EQ(alignment.matched, 119U);
}

TEST(AlignClocks, NumbersThatDoNotMeetFallBackToIntervals) {
  Pair pair = collectives({.behind_ns = 10 * kMs, .numbered = true});
  for (CollectiveEnd& end : pair.other) end.sequence += 1000;
  EXPECT_EQ(align_clocks(pair.reference, pair.other).by, AlignedBy::kIntervals);
}

RC_GTEST_PROP(AlignClocksProperty, FindsTheShiftWhateverTheCutsAndTheOrder, ()) {
  Shape shape;
  shape.steps = *rc::gen::inRange<size_t>(25, 80);
  shape.per_step = *rc::gen::inRange<size_t>(1, 5);
  shape.cut_reference = *rc::gen::inRange<size_t>(0, 8);
  shape.cut_other = *rc::gen::inRange<size_t>(0, 8);
  shape.behind_ns = *rc::gen::inRange<int64_t>(-kHour, kHour);
  shape.seed = *rc::gen::inRange<uint32_t>(0, 100000);
  Pair pair = collectives(shape);
  const ClockAlignment alignment = align_clocks(pair.reference, pair.other);
  RC_ASSERT(alignment.by == AlignedBy::kIntervals);
  RC_ASSERT(std::abs(alignment.offset_ns - shape.behind_ns) < kMs);
  RC_ASSERT(alignment.matched == shape.steps * shape.per_step - std::max(shape.cut_reference, shape.cut_other));

  std::ranges::reverse(pair.reference);
  std::ranges::reverse(pair.other);
  RC_ASSERT(align_clocks(pair.reference, pair.other).offset_ns == alignment.offset_ns);
  RC_ASSERT(std::abs(align_clocks(pair.other, pair.reference).offset_ns + alignment.offset_ns) <= kMs);
}

RC_GTEST_PROP(AlignClocksProperty, AnythingIsTolerated, ()) {
  const auto end = rc::gen::construct<CollectiveEnd>(rc::gen::inRange<uint64_t>(0, 3), rc::gen::inRange<int64_t>(-2, 9),
                                                     rc::gen::arbitrary<int64_t>());
  const auto ends = rc::gen::container<std::vector<CollectiveEnd>>(end);
  const ClockAlignment alignment = align_clocks(*ends, *ends);
  RC_ASSERT(!alignment.why.empty());
  RC_ASSERT((alignment.by == AlignedBy::kNothing) == (alignment.matched == 0));
}

}  // namespace
}  // namespace eroica
