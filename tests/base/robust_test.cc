#include "base/robust.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eroica {
namespace {

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

double slow_median(const std::vector<double>& values) {
  const std::vector<double> s = sorted(values);
  const size_t n = s.size();
  return n == 0 ? 0 : (s[(n - 1) / 2] + s[n / 2]) / 2;
}

rc::Gen<std::vector<double>> measurements() {
  return rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(-100'000, 100'000), [](int value) { return value / 8.0; }));
}

TEST(Robust, OneSlowRankMovesNeitherMedianNorMad) {
  const std::vector<double> peers{10, 11, 9, 10, 500};
  EXPECT_EQ(median(peers), 10);
  EXPECT_EQ(median_absolute_deviation(peers), 1);
}

TEST(Robust, SmallInputs) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(median_absolute_deviation(std::vector<double>{7}), 0);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  EXPECT_EQ(median(std::vector<double>{1, 2}), 1.5);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.3), 7);
}

TEST(Robust, QuantileInterpolates) {
  const std::vector<double> values{40, 10, 30, 20};
  EXPECT_EQ(quantile(values, 0), 10);
  EXPECT_EQ(quantile(values, 1), 40);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 13);
  EXPECT_EQ(quantile(values, 7), 40);
  EXPECT_EQ(quantile(values, std::nan("")), 10);
}

TEST(Robust, HugeValuesStayFinite) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(median(std::vector<double>{most, most}), most);
  EXPECT_TRUE(std::isfinite(quantile(std::vector<double>{-most, most}, 0.25)));
}

RC_GTEST_PROP(Robust, MedianEqualsTheSlowOne, ()) {
  const auto values = *measurements();
  RC_ASSERT(median(values) == slow_median(values));
}

RC_GTEST_PROP(Robust, MadEqualsTheSlowOne, ()) {
  const auto values = *measurements();
  std::vector<double> distances;
  for (double value : values) {
    distances.push_back(std::abs(value - slow_median(values)));
  }
  RC_ASSERT(median_absolute_deviation(values) == (values.size() < 2 ? 0 : slow_median(distances)));
}

RC_GTEST_PROP(Robust, QuantileEqualsTheSlowOne, ()) {
  const auto values = *rc::gen::nonEmpty(measurements());
  const double q = *rc::gen::map(rc::gen::inRange(0, 1001), [](int n) { return n / 1000.0; });
  const std::vector<double> s = sorted(values);
  const double place = q * static_cast<double>(s.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, s.size() - 1);
  const double expected = s[below] + (s[above] - s[below]) * (place - static_cast<double>(below));
  RC_ASSERT(std::abs(quantile(values, q) - expected) < 1e-6);
}

// Every value as often as its weight says: the lower of the middle two.
RC_GTEST_PROP(Robust, WeightedMedianEqualsTheMedianOfRepeatedValues, ()) {
  const auto counts = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(-9, 9), rc::gen::inRange(1, 5))));
  std::vector<std::pair<double, double>> weighted;
  std::vector<double> repeated;
  for (const auto& [value, count] : counts) {
    weighted.emplace_back(value, count);
    repeated.insert(repeated.end(), static_cast<size_t>(count), value);
  }
  RC_ASSERT(weighted_median(weighted) == sorted(repeated)[(repeated.size() - 1) / 2]);
}

TEST(Robust, WeightedMedianOfNothingIsZero) { EXPECT_EQ(weighted_median({}), 0); }

TEST(Robust, Correlation) {
  const std::vector<double> x{1, 2, 3, 4};
  EXPECT_NEAR(correlation(x, std::vector<double>{10, 20, 30, 40}), 1, 1e-12);
  EXPECT_NEAR(correlation(x, std::vector<double>{4, 3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(correlation(x, std::vector<double>{1, -1, -1, 1}), 0, 1e-12);
  EXPECT_EQ(correlation(x, std::vector<double>{5, 5, 5, 5}), 0);
}

}  // namespace
}  // namespace eroica
