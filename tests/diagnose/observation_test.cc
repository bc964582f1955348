#include "diagnose/observation.h"

#include <gtest/gtest.h>

#include "compare/peers.h"

namespace eroica {
namespace {

SeenFact seen(double value, std::optional<double> peers = std::nullopt, std::optional<double> baseline = std::nullopt) {
  SeenFact observation;
  observation.value = value;
  observation.peers_median = peers;
  observation.baseline = baseline;
  return observation;
}

TEST(Judge, NoBoundHolds) { EXPECT_EQ(judge({}, seen(1)), Judgement::kHolds); }

TEST(Judge, ABoundItselfIsWithin) {
  EXPECT_EQ(judge({.above = 2}, seen(2)), Judgement::kHolds);
  EXPECT_EQ(judge({.above = 2}, seen(1.99)), Judgement::kFails);
  EXPECT_EQ(judge({.below = 2}, seen(2)), Judgement::kHolds);
  EXPECT_EQ(judge({.below = 2}, seen(2.01)), Judgement::kFails);
}

TEST(Judge, DifferenceToPeers) {
  EXPECT_EQ(judge({.above_peers = 0.5}, seen(1.5, 1)), Judgement::kHolds);
  EXPECT_EQ(judge({.above_peers = 0.5}, seen(1.4, 1)), Judgement::kFails);
  EXPECT_EQ(judge({.below_peers = 0.5}, seen(0.5, 1)), Judgement::kHolds);
  EXPECT_EQ(judge({.below_peers = 0.5}, seen(1.5, 1)), Judgement::kFails);
}

TEST(Judge, RatioToPeers) {
  EXPECT_EQ(judge({.above_peers_ratio = 1.5}, seen(3, 2)), Judgement::kHolds);
  EXPECT_EQ(judge({.above_peers_ratio = 1.5}, seen(2.9, 2)), Judgement::kFails);
  EXPECT_EQ(judge({.below_peers_ratio = 0.9}, seen(0.9, 1)), Judgement::kHolds);
  EXPECT_EQ(judge({.below_peers_ratio = 0.9}, seen(1, 1)), Judgement::kFails);
}

TEST(Judge, OverNothingIsInfinitelyMoreUnlessItIsNothingToo) {
  EXPECT_EQ(judge({.above_peers_ratio = 100}, seen(0.001, 0)), Judgement::kHolds);
  EXPECT_EQ(judge({.above_peers_ratio = 1.1}, seen(0, 0)), Judgement::kFails);
}

TEST(Judge, UnknownPeersAreNoVerdictUnlessAnotherBoundFails) {
  EXPECT_EQ(judge({.above_peers = 0.5}, seen(9)), Judgement::kUnknown);
  EXPECT_EQ(judge({.below_peers_ratio = 0.5}, seen(9)), Judgement::kUnknown);
  EXPECT_EQ(judge({.above = 1, .above_peers = 0.5}, seen(9)), Judgement::kUnknown);
  EXPECT_EQ(judge({.above = 10, .above_peers = 0.5}, seen(9)), Judgement::kFails);
}

TEST(Judge, UnknownBaseline) {
  EXPECT_EQ(judge({.above_baseline_ratio = 1.1}, seen(2, 1)), Judgement::kUnknown);
  EXPECT_EQ(judge({.above_baseline_ratio = 1.1}, seen(2, 1, 1)), Judgement::kHolds);
  EXPECT_EQ(judge({.below_baseline_ratio = 0.9}, seen(2, 1, 1)), Judgement::kFails);
}

TEST(LooksForMore, TellsWhichWayABoundPoints) {
  EXPECT_TRUE(looks_for_more({.above = 1}));
  EXPECT_TRUE(looks_for_more({.above_peers_ratio = 1}));
  EXPECT_FALSE(looks_for_more({.below = 1}));
  EXPECT_FALSE(looks_for_more({.below_peers_ratio = 1}));
}

}  // namespace
}  // namespace eroica
