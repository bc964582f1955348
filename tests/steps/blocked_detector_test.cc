#include "steps/blocked_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steps/step_series.h"

namespace eroica::testing {
namespace {

using Kind = DetectorEvent::Kind;

Listener running(double seconds, int ranks, size_t steps = 100, const Policy& policy = {}) {
  Listener listener(policy);
  for (const double step : steps_of(1, steps, seconds, 0.02)) listener.step(step, ranks);
  return listener;
}

TEST(BlockedDetector, NothingForTenSecondsIsBlockedWhereStepsAreShort) {
  Listener listener = running(0.1, 4);
  listener.silence(10);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 0);
  listener.silence(5);
  ASSERT_EQ(listener.heard().count(Kind::kBlocked), 1);
  const DetectorEvent& event = *listener.heard().first(Kind::kBlocked);
  EXPECT_FALSE(event.window);  // it is asked, not profiled
  EXPECT_TRUE(event.blocked.all);
  EXPECT_DOUBLE_EQ(event.blocked.allowed_s, 10);
  EXPECT_NEAR(event.blocked.mean_step_s, 0.1, 0.01);
  ASSERT_EQ(event.blocked.ranks.size(), 4);
  EXPECT_EQ(event.blocked.ranks[0].step, 99);
  listener.step(1, 4);
  EXPECT_EQ(listener.heard().count(Kind::kUnblocked), 1);
}

TEST(BlockedDetector, LongStepsMayTakeFiveTimesAsLong) {
  Listener listener = running(30, 2);
  listener.silence(140);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 0);
  listener.silence(15);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 1);
}

TEST(BlockedDetector, PausesOfTheHealthyJobAreAllowedTwiceAsLong) {
  Listener listener = running(0.1, 2);
  listener.silence(9);
  listener.step(0.1, 2);  // a checkpoint of 9 s
  listener.silence(17);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 0);
  listener.silence(3);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 1);
}

TEST(BlockedDetector, WhatTheFirstStepWaitedForMayComeAgainSoonAfter) {
  Listener listener;
  listener.silence(60);
  for (int i = 0; i < 3; ++i) listener.step(0.2, 2);
  listener.silence(90);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 0);
  listener.silence(40);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 1);
}

TEST(BlockedDetector, AFirstStepMayTakeLong) {
  Listener listener;
  listener.silence(1700);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 0);
  listener.silence(200);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 1);
}

TEST(BlockedDetector, TheRanksThatAreFurthestBehindComeFirst) {
  Listener listener = running(0.1, 4);
  listener.record(3, 100);
  listener.record(0, 100);
  listener.silence(20);
  const DetectorEvent* event = listener.heard().first(Kind::kBlocked);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->blocked.ranks[0].rank, 1);
  EXPECT_EQ(event->blocked.ranks[1].rank, 2);
  EXPECT_EQ(event->blocked.ranks[2].rank, 0);
}

TEST(BlockedDetector, OneRankMayStandStillWhileOthersGoOn) {
  Listener listener = running(1, 3);
  for (int64_t step = 100; step < 130; ++step) {
    listener.silence(1);
    listener.record(0, step);
    listener.record(2, step);
  }
  ASSERT_EQ(listener.heard().count(Kind::kBlocked), 1);
  const DetectorEvent& event = *listener.heard().first(Kind::kBlocked);
  EXPECT_FALSE(event.blocked.all);
  ASSERT_EQ(event.blocked.ranks.size(), 1);
  EXPECT_EQ(event.blocked.ranks[0].rank, 1);
  EXPECT_EQ(event.blocked.ranks[0].step, 99);

  Listener left = running(1, 3);
  left.detector().leave(1);
  for (int64_t step = 100; step < 130; ++step) {
    left.silence(1);
    left.record(0, step);
    left.record(2, step);
  }
  EXPECT_EQ(left.heard().count(Kind::kBlocked), 0);
}

TEST(BlockedDetector, OurOwnWindowHoldsItUpAndIsNoPauseOfTheJob) {
  Listener listener = running(0.1, 2);
  listener.detector().mask(listener.now_ns(), listener.now_ns() + 20'000'000'000);
  listener.silence(19);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 0);
  listener.step(0.1, 2);
  for (int k = 0; k < 80; ++k) listener.step(0.1, 2);
  listener.silence(12);  // allowed is 10 s still
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 1);
}

TEST(BlockedDetector, CanBeTurnedOff) {
  Policy off;
  off.blocked.enabled = false;
  Listener listener = running(0.1, 2, 100, off);
  listener.silence(300);
  EXPECT_EQ(listener.heard().count(Kind::kBlocked), 0);
}

}  // namespace
}  // namespace eroica::testing
