#include "compare/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "base/robust.h"
#include "jobs.h"

namespace eroica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Stragglers> split(const std::vector<double>& values, double least, size_t most = 4) {
  return find_stragglers(
      one_set(values.size()), [&](uint32_t rank) { return values[rank]; }, least, most);
}

TEST(Stragglers, OneOfFourStandsOut) {
  const auto found = split({1.0, 1.1, 3.0, 1.05}, 0.5);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].ranks, ElementsAre(2));
  EXPECT_NEAR(found[0].excess, 3.0 - 1.05, 1e-9);
  EXPECT_NEAR(found[0].gap, 1.9, 1e-9);
  EXPECT_NEAR(found[0].spread, 0.1, 1e-9);
  EXPECT_EQ(found[0].others, 3U);
}

TEST(Stragglers, TwoCulpritsOfDifferentSizeAreTwo) {
  const auto found = split({1, 1, 1, 1, 1, 1, 2, 5}, 0.5);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].ranks, ElementsAre(7));
  EXPECT_THAT(found[1].ranks, ElementsAre(6));
}

TEST(Stragglers, HalfOfTheRanksMayBeSlowAndNoMore) {
  EXPECT_THAT(split({1, 1, 4, 4}, 0.5).at(0).ranks, ElementsAre(2, 3));
  for (const Stragglers& found : split({1, 4, 4, 4}, 0.5)) EXPECT_LE(found.ranks.size(), 2U);
}

TEST(Stragglers, WhatIsNotANumberTakesNoPart) {
  EXPECT_THAT(split({1, std::numeric_limits<double>::quiet_NaN(), 1, 1, 9}, 0.5).at(0).ranks, ElementsAre(4));
  EXPECT_THAT(split({}, 0.5), IsEmpty());
  EXPECT_THAT(split({3}, 0.5), IsEmpty());
}

TEST(Stragglers, SetsAreSplitEachForItself) {
  Peers peers = one_set(8);
  peers.sets.push_back({"b", "", {4, 5, 6, 7}, 1});
  peers.sets[0].ranks = {0, 1, 2, 3};
  const std::vector<double> values{1, 1, 1, 1, 9, 9, 9, 9};
  EXPECT_THAT(find_stragglers(
                  peers, [&](uint32_t rank) { return values[rank]; }, 0.5),
              IsEmpty());
}

TEST(Stragglers, HalfOfALargeSetMayBeSlow) {
  std::vector<double> values;
  for (int i = 0; i < 16; ++i) values.push_back((i < 8 ? 10 : 14) + 0.1 * (i % 4));
  const auto found = split(values, 0.5);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].ranks, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_EQ(found[0].others, 8U);
}

TEST(Stragglers, TwoHalvesThatRunIntoEachOtherAreOne) {
  std::vector<double> values;
  for (int i = 0; i < 32; ++i) values.push_back((i < 16 ? 10 : 12) + 0.3 * (i % 8));
  EXPECT_THAT(split(values, 0.2), IsEmpty());
}

/// The first split of a large set, told as slowly as possible.
std::vector<uint32_t> outliers(const std::vector<double>& values, double least) {
  const double bound = median(values) + std::max(least, 6 * 1.4826 * median_absolute_deviation(values));
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i] > bound) found.push_back(i);
  }
  return found;
}

RC_GTEST_PROP(Stragglers, LargeSetsSplitBeyondTheMedian, ()) {
  const auto whole =
      *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(16, 60), rc::gen::inRange(0, 1000));
  const std::vector<double> values(whole.begin(), whole.end());
  const auto found = split(values, 50, 1);
  const std::vector<uint32_t> expected = outliers(values, 50);
  if (!expected.empty()) {
    RC_ASSERT(found.size() == 1U && found[0].ranks == expected);
  } else if (!found.empty()) {  // a slow half
    RC_ASSERT(3 * found[0].ranks.size() >= values.size() && 2 * found[0].ranks.size() <= values.size());
    RC_ASSERT(found[0].gap >= 50);
  }
}

RC_GTEST_PROP(Stragglers, WhateverIsFoundStandsAboveAllOthers, ()) {
  const auto whole = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(0, 40), rc::gen::inRange(0, 100));
  const std::vector<double> values(whole.begin(), whole.end());
  const auto found = split(values, 5);
  std::vector<bool> taken(values.size());
  for (const Stragglers& group : found) {
    RC_ASSERT(!group.ranks.empty() && group.excess >= 5 && std::ranges::is_sorted(group.ranks));
    for (const uint32_t rank : group.ranks) {
      RC_ASSERT(!taken[rank]);
      taken[rank] = true;
    }
  }
  double most_of_others = 0;
  double least_of_found = 1e9;
  for (size_t i = 0; i < values.size(); ++i) {
    (taken[i] ? least_of_found : most_of_others) =
        taken[i] ? std::min(least_of_found, values[i]) : std::max(most_of_others, values[i]);
  }
  RC_ASSERT(found.empty() || least_of_found > most_of_others);
  RC_ASSERT(found.size() <= 4U);
  for (size_t i = 1; i < found.size(); ++i) RC_ASSERT(found[i - 1].excess >= found[i].excess);
}

RC_GTEST_PROP(Stragglers, ShiftingAllValuesChangesNothing, ()) {
  const auto whole = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(2, 40), rc::gen::inRange(0, 100));
  std::vector<double> values(whole.begin(), whole.end());
  const auto before = split(values, 5);
  for (double& value : values) value += 4096;
  const auto after = split(values, 5);
  RC_ASSERT(before.size() == after.size());
  for (size_t i = 0; i < before.size(); ++i) RC_ASSERT(before[i].ranks == after[i].ranks);
}

}  // namespace
}  // namespace eroica
