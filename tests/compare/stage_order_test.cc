#include "compare/stage_order.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

std::vector<StagePart> seen(const std::vector<int32_t>& ranks) {
  std::vector<StagePart> parts;
  parts.reserve(ranks.size());
  for (const int32_t rank : ranks) parts.push_back({rank, true});
  return parts;
}

TEST(StageOrder, FollowsTheExchangesNotTheRanks) {
  const auto places = order_stages(seen({0, 1, 2, 3}), {{0, 2}, {2, 1}, {1, 3}});
  EXPECT_EQ(places[0].stage, 0);
  EXPECT_EQ(places[2].stage, 1);
  EXPECT_EQ(places[1].stage, 2);
  EXPECT_EQ(places[3].stage, 3);
}

TEST(StageOrder, ARingStartsAtItsLowestRank) {
  const auto places = order_stages(seen({0, 1, 2, 3}), {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(places[i].stage, static_cast<int32_t>(i));
}

TEST(StageOrder, EquallyLongPipelinesAreReplicasAndOthersAreNot) {
  const auto places = order_stages(seen({0, 1, 2, 3, 4, 5, 6}), {{0, 2}, {2, 4}, {1, 3}, {3, 5}});
  EXPECT_EQ(places[0].pipeline, places[1].pipeline);
  EXPECT_EQ(places[4].stage, places[5].stage);
  EXPECT_NE(places[6].pipeline, places[0].pipeline);
}

TEST(StageOrder, UnseenPartsCountAndThoseOfOneStageAreOne) {
  std::vector<StagePart> parts = seen({0, 2, 4, 5, 6});
  parts[2].present = parts[3].present = false;  // ranks 4 and 5, whom no collective joins
  const auto places = order_stages(parts, {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}});
  EXPECT_EQ(places[2].stage, 2);
  EXPECT_EQ(places[3].stage, 2);
  EXPECT_EQ(places[4].stage, 3);
}

TEST(StageOrder, APipelineOfWhichAnEndIsMissingIsNobodysReplica) {
  std::vector<StagePart> parts = seen({0, 1, 2, 3});
  parts[1].present = parts[2].present = false;
  const auto places = order_stages(parts, {{0, 1}, {2, 3}});
  EXPECT_NE(places[0].pipeline, places[3].pipeline);
}

TEST(StageOrder, WhatForksIsOrderedByRank) {
  const auto places = order_stages(seen({0, 1, 2, 3}), {{0, 1}, {0, 2}, {0, 3}});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(places[i].stage, static_cast<int32_t>(i));
}

}  // namespace
}  // namespace eroica
