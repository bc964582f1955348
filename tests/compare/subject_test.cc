#include "compare/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/robust.h"
#include "jobs.h"

namespace eroica {
namespace {

TEST(Subject, KnowsItsMembers) {
  const Subject subject({1, 3}, 4);
  EXPECT_TRUE(subject.contains(1) && subject.contains(3));
  EXPECT_FALSE(subject.contains(0) || subject.contains(2) || subject.is_all());
  EXPECT_TRUE(Subject({0, 1}, 2).is_all());
}

RC_GTEST_PROP(Subject, SamplesAreDifferentMembersInOrder, ()) {
  const auto size = *rc::gen::inRange<uint32_t>(1, 500);
  const auto most = *rc::gen::inRange<size_t>(1, 100);
  std::vector<uint32_t> ranks(size);
  for (uint32_t i = 0; i < size; ++i) ranks[i] = 2 * i;
  const Subject subject(ranks, 2 * size);
  const std::vector<uint32_t> sample = subject.sample(most);
  RC_ASSERT(sample.size() == std::min<size_t>(most, size));
  RC_ASSERT(std::set<uint32_t>(sample.begin(), sample.end()).size() == sample.size());
  RC_ASSERT(std::ranges::is_sorted(sample));
  for (const uint32_t rank : sample) RC_ASSERT(subject.contains(rank));
}

RC_GTEST_PROP(Subject, ContrastIsTheMeanBesideTheOthersMedian, ()) {
  const auto whole = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(2, 60), rc::gen::inRange(-1, 50));
  std::vector<double> values(whole.begin(), whole.end());
  for (double& value : values) value = value < 0 ? std::numeric_limits<double>::quiet_NaN() : value;
  const auto split = *rc::gen::inRange<size_t>(1, values.size() + 1);
  std::vector<uint32_t> ranks;
  std::vector<double> members;
  std::vector<double> others;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (i < split) ranks.push_back(i);
    if (std::isnan(values[i])) continue;
    (i < split ? members : others).push_back(values[i]);
  }
  const auto found =
      contrast(Subject(ranks, values.size()), one_set(values.size()), [&](uint32_t rank) { return values[rank]; });
  RC_ASSERT(found.has_value() == !members.empty());
  if (!found) return;
  const double mean = std::accumulate(members.begin(), members.end(), 0.0) / static_cast<double>(members.size());
  RC_ASSERT(std::abs(found->value - (split == values.size() ? median(members) : mean)) < 1e-9);
  RC_ASSERT(found->peers == others.size());
  RC_ASSERT(found->peers_median.has_value() == !others.empty());
  if (others.empty()) return;
  RC_ASSERT(std::abs(*found->peers_median - median(others)) < 1e-9);
  RC_ASSERT(std::abs(found->peers_mad - median_absolute_deviation(others)) < 1e-9);
}

TEST(Subject, PeersOfOtherSetsAreNotAsked) {
  Peers peers = one_set(4);
  peers.sets[0].ranks = {0, 1};
  peers.sets.push_back({"b", "", {2, 3}, 1});
  peers.set_of = {0, 0, 1, 1};
  const std::vector<double> values{5, 1, 100, 100};
  const auto found = contrast(Subject({0}, 4), peers, [&](uint32_t rank) { return values[rank]; });
  ASSERT_TRUE(found && found->peers_median);
  EXPECT_EQ(*found->peers_median, 1);
  EXPECT_EQ(found->peers, 1U);
}

}  // namespace
}  // namespace eroica
