#include "sample/pm_reduction.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace eroica::testing {
namespace {

constexpr int64_t kStep = 100'000;
constexpr int64_t kPeriod = 10'000'000;

TEST(PmReduction, MeanAndDeviationOfEachPeriod) {
  PmReduction reduction(2, kPeriod);
  int periods = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    // A base that would swallow the digits of a plain sum of squares.
    const std::array<double, 2> values = {1e9 + (i % 2 == 0 ? 1 : 3), static_cast<double>(i / 100)};
    const bool ended = reduction.add(i * kStep, (i + 1) * kStep, values);
    EXPECT_EQ(ended, i % 100 == 99);
    if (!ended) continue;
    EXPECT_DOUBLE_EQ(reduction.aggregates()[0].mean, 1e9 + 2);
    EXPECT_NEAR(reduction.aggregates()[0].deviation, 1, 1e-9);
    EXPECT_EQ(reduction.aggregates()[0].count, 100U);
    EXPECT_DOUBLE_EQ(reduction.aggregates()[1].mean, periods);
    EXPECT_DOUBLE_EQ(reduction.aggregates()[1].deviation, 0);
    EXPECT_EQ(reduction.begin_ns(), periods * kPeriod);
    EXPECT_EQ(reduction.end_ns(), (periods + 1) * kPeriod);
    ++periods;
  }
  EXPECT_EQ(periods, 10);
}

TEST(PmReduction, WhatIsNotToldDoesNotCount) {
  PmReduction reduction(2, 4 * kStep);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::array<double, 2>> values = {{nan, nan}, {2, nan}, {infinite, nan}, {4, nan}};
  bool ended = false;
  for (size_t i = 0; i < values.size(); ++i) {
    ended = reduction.add(static_cast<int64_t>(i) * kStep, static_cast<int64_t>(i + 1) * kStep, values[i]);
  }
  ASSERT_TRUE(ended);
  EXPECT_EQ(reduction.aggregates()[0].count, 2U);
  EXPECT_EQ(reduction.aggregates()[0].mean, 3);
  EXPECT_EQ(reduction.aggregates()[0].deviation, 1);
  EXPECT_EQ(reduction.aggregates()[1].count, 0U);
}

TEST(PmReduction, GapsEndAPeriod) {
  PmReduction reduction(1, kPeriod);
  const std::array<double, 1> value = {5};
  EXPECT_FALSE(reduction.add(0, kStep, value));
  EXPECT_TRUE(reduction.add(7 * kPeriod, 7 * kPeriod + kStep, value));
  EXPECT_EQ(reduction.aggregates()[0].count, 2U);
  EXPECT_FALSE(reduction.add(8 * kPeriod, 8 * kPeriod + kStep, {}));  // fewer values than metrics
}

}  // namespace
}  // namespace eroica::testing
