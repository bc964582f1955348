#include "agent/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'700'000'000 * kSecond;

Window window_of(const std::vector<int32_t>& ranks) { return {plan_window("w", kBegin, 3), ranks}; }

TEST(Window, RanksHaveTimeToGetReady) {
  const Window window = window_of({0, 1});
  const WindowPlan& plan = window.plan();
  EXPECT_EQ(plan.start_unix_ns % 1'000'000, 0);
  EXPECT_EQ(plan.end_unix_ns - plan.start_unix_ns, 3 * kSecond);
  EXPECT_TRUE(window.in_time_for_poll(kBegin + kSecond));
  EXPECT_FALSE(window.in_time_for_poll(plan.start_unix_ns - kSecond));
}

TEST(Window, GoesThroughItsPhases) {
  Window window = window_of({0, 1});
  const WindowPlan plan = window.plan();
  EXPECT_EQ(window.phase(kBegin), WindowPhase::kAsked);
  window.armed(0);
  EXPECT_EQ(window.phase(kBegin), WindowPhase::kAsked);
  window.armed(1);
  EXPECT_EQ(window.phase(kBegin), WindowPhase::kArmed);
  EXPECT_EQ(window.phase(plan.start_unix_ns), WindowPhase::kTracing);
  EXPECT_EQ(window.phase(plan.end_unix_ns), WindowPhase::kCollecting);
  window.written(0, "/a", 5);
  window.tick(plan.end_unix_ns + kSecond);
  EXPECT_FALSE(window.done());
  window.written(1, "/b", 5);
  EXPECT_EQ(window.phase(plan.end_unix_ns), WindowPhase::kDone);
  EXPECT_EQ(window.written_count(), 2);
}

TEST(Window, NobodyWaitsForEverForALateRank) {
  Window window = window_of({0, 1, 2});
  for (const int32_t rank : {0, 1, 2}) window.armed(rank);
  const int64_t end = window.plan().end_unix_ns;
  window.written(0, "/a", 5);
  window.written(1, "/b", 5);
  window.tick(end + kSecond);
  window.tick(end + 20 * kSecond);
  EXPECT_FALSE(window.done());
  window.tick(end + 22 * kSecond);
  EXPECT_TRUE(window.done());
  EXPECT_EQ(window.ranks().at(2).phase, RankPhase::kLate);
  EXPECT_EQ(window.ranks().at(2).why, "it wrote no trace in time");
}

TEST(Window, AFileThatGrowsIsWaitedForWithinReason) {
  Window window = window_of({0});
  window.armed(0);
  const int64_t end = window.plan().end_unix_ns;
  int64_t now = end;
  for (uint64_t bytes = 1; now < end + 170 * kSecond; now += 10 * kSecond) {
    window.growing(0, bytes++, now);
    window.tick(now);
    EXPECT_FALSE(window.done());
  }
  window.growing(0, 1'000'000, end + 181 * kSecond);
  window.tick(end + 181 * kSecond);
  EXPECT_TRUE(window.done());
}

TEST(Window, NobodyIsWaitedForOnceTheClockWasSetBack) {
  constexpr int64_t kHour = 3600 * kSecond;
  Window window = window_of({0, 1, 2});
  window.armed(0);
  window.armed(1);
  window.tick(kBegin + 3 * kSecond);
  window.written(1, "/b", 5);
  window.tick(kBegin + 2 * kSecond);  // slewed
  EXPECT_FALSE(window.clock_was_set_back());
  EXPECT_FALSE(window.done());
  window.tick(kBegin + 4 * kSecond - kHour);
  EXPECT_TRUE(window.clock_was_set_back());
  EXPECT_TRUE(window.done());
  EXPECT_EQ(window.ranks().at(0).phase, RankPhase::kFailed);
  EXPECT_THAT(window.ranks().at(0).why, ::testing::HasSubstr("clock was set back"));
  EXPECT_EQ(window.ranks().at(1).phase, RankPhase::kWritten);
}

TEST(Window, RanksThatEndOrCannotHoldNobodyUp) {
  Window window = window_of({0, 1, 2});
  window.gone(0);
  window.failed(1, "busy");
  EXPECT_FALSE(window.done());
  window.tick(window.plan().end_unix_ns + kSecond);  // rank 2 never polled
  EXPECT_TRUE(window.done());
  EXPECT_EQ(window.ranks().at(2).why, "it did not ask for work");
  window.written(0, "/late", 5);  // after all
  EXPECT_EQ(window.written_count(), 1);
}

}  // namespace
}  // namespace eroica::testing
