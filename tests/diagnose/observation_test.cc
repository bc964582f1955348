#include "diagnose/observation.h"

#include <gtest/gtest.h>

#include "compare/peers.h"

namespace eroica {
namespace {

Observation seen(double value, std::optional<double> peers = std::nullopt,
                 std::optional<double> baseline = std::nullopt) {
  Observation observation;
  observation.value = value;
  observation.peers_median = peers;
  observation.baseline = baseline;
  return observation;
}

TEST(Judge, NoBoundHolds) { EXPECT_EQ(judge({}, seen(1)), Verdict::kHolds); }

TEST(Judge, ABoundItselfIsWithin) {
  EXPECT_EQ(judge({.above = 2}, seen(2)), Verdict::kHolds);
  EXPECT_EQ(judge({.above = 2}, seen(1.99)), Verdict::kFails);
  EXPECT_EQ(judge({.below = 2}, seen(2)), Verdict::kHolds);
  EXPECT_EQ(judge({.below = 2}, seen(2.01)), Verdict::kFails);
}

TEST(Judge, DifferenceToPeers) {
  EXPECT_EQ(judge({.above_peers = 0.5}, seen(1.5, 1)), Verdict::kHolds);
  EXPECT_EQ(judge({.above_peers = 0.5}, seen(1.4, 1)), Verdict::kFails);
  EXPECT_EQ(judge({.below_peers = 0.5}, seen(0.5, 1)), Verdict::kHolds);
  EXPECT_EQ(judge({.below_peers = 0.5}, seen(1.5, 1)), Verdict::kFails);
}

TEST(Judge, RatioToPeers) {
  EXPECT_EQ(judge({.above_peers_ratio = 1.5}, seen(3, 2)), Verdict::kHolds);
  EXPECT_EQ(judge({.above_peers_ratio = 1.5}, seen(2.9, 2)), Verdict::kFails);
  EXPECT_EQ(judge({.below_peers_ratio = 0.9}, seen(0.9, 1)), Verdict::kHolds);
  EXPECT_EQ(judge({.below_peers_ratio = 0.9}, seen(1, 1)), Verdict::kFails);
}

TEST(Judge, OverNothingIsInfinitelyMoreUnlessItIsNothingToo) {
  EXPECT_EQ(judge({.above_peers_ratio = 100}, seen(0.001, 0)), Verdict::kHolds);
  EXPECT_EQ(judge({.above_peers_ratio = 1.1}, seen(0, 0)), Verdict::kFails);
}

TEST(Judge, UnknownPeersAreNoVerdictUnlessAnotherBoundFails) {
  EXPECT_EQ(judge({.above_peers = 0.5}, seen(9)), Verdict::kUnknown);
  EXPECT_EQ(judge({.below_peers_ratio = 0.5}, seen(9)), Verdict::kUnknown);
  EXPECT_EQ(judge({.above = 1, .above_peers = 0.5}, seen(9)), Verdict::kUnknown);
  EXPECT_EQ(judge({.above = 10, .above_peers = 0.5}, seen(9)), Verdict::kFails);
}

TEST(Judge, UnknownBaseline) {
  EXPECT_EQ(judge({.above_baseline_ratio = 1.1}, seen(2, 1)), Verdict::kUnknown);
  EXPECT_EQ(judge({.above_baseline_ratio = 1.1}, seen(2, 1, 1)), Verdict::kHolds);
  EXPECT_EQ(judge({.below_baseline_ratio = 0.9}, seen(2, 1, 1)), Verdict::kFails);
}

TEST(LooksForMore, TellsWhichWayABoundPoints) {
  EXPECT_TRUE(looks_for_more({.above = 1}));
  EXPECT_TRUE(looks_for_more({.above_peers_ratio = 1}));
  EXPECT_FALSE(looks_for_more({.below = 1}));
  EXPECT_FALSE(looks_for_more({.below_peers_ratio = 1}));
}

}  // namespace
}  // namespace eroica
