#include "sample/thread_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Kind = Switch::Kind;

constexpr int64_t kMs = 1'000'000;
constexpr pid_t kNeighbour = 77;

Switch at(int64_t ms, Kind kind, pid_t other = -1) { return {ms * kMs, kind, 5, other}; }
SchedStat booked(int64_t run_ms, int64_t wait_ms) {
  return {static_cast<uint64_t>(run_ms * kMs), static_cast<uint64_t>(wait_ms * kMs)};
}

/// Sums, in ms, of what is told of the time from `begin_ms` on.
struct Sums {
  double run = 0;
  double preempted = 0;
  double wakeup_wait = 0;
  double all = 0;
};
Sums sums(const std::vector<ThreadShares>& shares, int64_t begin_ms) {
  Sums sum;
  int64_t before_ns = begin_ms * kMs;
  for (const ThreadShares& one : shares) {
    const double length = static_cast<double>(one.end_ns - before_ns) / kMs;
    sum.run += one.run * length;
    sum.preempted += one.preempted * length;
    sum.wakeup_wait += one.wakeup_wait * length;
    sum.all += length;
    before_ns = one.end_ns;
  }
  return sum;
}

TEST(ThreadTimeline, EachKindOfTime) {
  ThreadTimeline timeline(1000 * kMs, kMs);
  timeline.book(1000 * kMs, booked(50, 7));
  timeline.add(at(1003, Kind::kPreempted, kNeighbour));  // it ran until then
  timeline.add(at(1008, Kind::kOn, kNeighbour));
  timeline.add(at(1010, Kind::kOff));
  timeline.add(at(1030, Kind::kOn, kNeighbour));  // was woken 4 ms before
  timeline.book(1032 * kMs, booked(57, 16));
  timeline.finish(1035 * kMs);
  const std::vector<ThreadShares> shares = timeline.take();
  const Sums sum = sums(shares, 1000);
  EXPECT_DOUBLE_EQ(sum.all, 35);
  EXPECT_DOUBLE_EQ(sum.run, 3 + 2 + 5);
  EXPECT_DOUBLE_EQ(sum.preempted, 5);
  EXPECT_DOUBLE_EQ(sum.wakeup_wait, 4);
  // Each where it was.
  std::vector<int64_t> ends_ms;
  for (const ThreadShares& one : shares) ends_ms.push_back(one.end_ns / kMs);
  EXPECT_THAT(ends_ms, ElementsAre(1003, 1008, 1010, 1026, 1030, 1032, 1035));
  EXPECT_THAT(timeline.waited_for(), ElementsAre(Pair(kNeighbour, 9 * kMs)));
}

TEST(ThreadTimeline, OneThatNeverSwitches) {
  for (const bool runs : {true, false}) {
    ThreadTimeline timeline(0, kMs);
    timeline.book(0, booked(1000, 0));
    timeline.book(10 * kMs, booked(runs ? 1010 : 1000, 0));
    timeline.finish(20 * kMs);
    const Sums sum = sums(timeline.take(), 0);
    EXPECT_DOUBLE_EQ(sum.run, runs ? 20 : 0);
    EXPECT_DOUBLE_EQ(sum.all, 20);
  }
}

TEST(ThreadTimeline, WhereSwitchesAreLostTheSumsAreUsed) {
  ThreadTimeline timeline(0, kMs);
  timeline.book(0, booked(0, 0));
  timeline.add(at(1, Kind::kOff));
  timeline.lose();
  timeline.add(at(9, Kind::kOff));
  timeline.book(10 * kMs, booked(6, 3));
  timeline.add(at(15, Kind::kOn));
  timeline.finish(20 * kMs);
  const Sums sum = sums(timeline.take(), 0);
  EXPECT_NEAR(sum.run, 6 + 5, 1e-9);
  EXPECT_NEAR(sum.wakeup_wait, 3, 1e-9);
  EXPECT_DOUBLE_EQ(sum.all, 20);
}

TEST(ThreadTimeline, OneMissingSwitchIsNoticed) {
  ThreadTimeline timeline(0, kMs);
  timeline.book(0, booked(0, 0));
  timeline.add(at(1, Kind::kOff));
  timeline.add(at(8, Kind::kOff));
  timeline.book(10 * kMs, booked(4, 0));
  timeline.finish(10 * kMs);
  EXPECT_NEAR(sums(timeline.take(), 0).run, 4, 1e-9);
}

TEST(ThreadTimeline, TwentyThousandSwitchesASecondAreTooManyToTellEach) {
  constexpr int64_t kUs = 1'000;
  ThreadTimeline timeline(0, kMs);
  timeline.book(0, booked(0, 0));
  size_t told = 0;
  double run = 0;
  for (int64_t us = 0; us < 1'000'000; us += 50) {
    timeline.add({us * kUs + 30 * kUs, Kind::kOff, 5, -1});
    timeline.add({us * kUs + 50 * kUs, Kind::kOn, 5, -1});
    if (us % 10'000 != 0) continue;
    timeline.book((us + 50) * kUs, booked(0, 0));
    for (const ThreadShares& one : timeline.take()) {
      ++told;
      run += one.run;
      EXPECT_NEAR(one.run, 0.6, 0.03);
    }
  }
  EXPECT_GE(told, 900U);
  EXPECT_LE(told, 1000U);
  EXPECT_NEAR(run / static_cast<double>(told), 0.6, 0.001);
}

// Whatever comes, shares are shares, and time goes on.
RC_GTEST_PROP(ThreadTimeline, SharesAreShares, (const std::vector<std::pair<uint8_t, uint8_t>>& steps)) {
  ThreadTimeline timeline(0, kMs);
  int64_t now_ns = 0;
  SchedStat stat;
  std::vector<ThreadShares> all;
  const auto take = [&] {
    for (const ThreadShares& one : timeline.take()) all.push_back(one);
  };
  for (const auto& [what, length] : steps) {
    now_ns += int64_t{length} * 100'000;
    if (what % 8 < 3) {
      timeline.add({now_ns, static_cast<Kind>(what % 3), 5, static_cast<pid_t>(what)});
    } else if (what % 8 == 3) {
      timeline.lose();
    } else {
      stat.run_ns += uint64_t{what} * 30'000;
      stat.wait_ns += uint64_t{length} * 20'000;
      timeline.book(now_ns, stat);
      take();
    }
  }
  timeline.finish(now_ns);
  take();
  int64_t before_ns = 0;
  for (const ThreadShares& one : all) {
    RC_ASSERT(one.end_ns > before_ns);
    RC_ASSERT(one.run >= 0 && one.preempted >= 0 && one.wakeup_wait >= 0);
    RC_ASSERT(one.run + one.preempted + one.wakeup_wait <= 1 + 1e-9);
    before_ns = one.end_ns;
  }
  RC_ASSERT(before_ns == now_ns || all.empty());
}

}  // namespace
}  // namespace eroica::testing
