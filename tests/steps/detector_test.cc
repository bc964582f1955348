#include "steps/detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steps/step_series.h"

namespace eroica::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = DetectorEvent::Kind;

void healthy(Listener& listener, size_t count, double seconds = 1, int32_t ranks = 2, uint64_t seed = 1) {
  for (const double step : steps_of(seed, count, seconds, 0.02)) listener.step(step, ranks);
}

// -- joining ranks

TEST(StepSeries, AStepEndsWhenEveryRankToldOfIt) {
  StepSeries series;
  std::vector<JobStep> done;
  for (int64_t step = 0; step < 4; ++step) {
    for (int32_t rank = 0; rank < 3; ++rank) {
      const int64_t at = (step + 1) * 100'000'000 + rank;
      series.push({rank, step, at, at * (rank == 2 ? 2 : 1), 5'000'000, 2}, at, done);
    }
  }
  ASSERT_THAT(done, SizeIs(3));  // the first step has no beginning
  EXPECT_EQ(done[0].number, 1);
  EXPECT_EQ(done[0].ranks, 3);
  EXPECT_NEAR(done[0].seconds, 0.1, 1e-6);
  EXPECT_NEAR(done[0].slowest_seconds, 0.2, 1e-6);
  EXPECT_NEAR(done[0].data_wait_seconds, 0.005, 1e-9);
  EXPECT_EQ(done[0].fetches, 2);
}

TEST(StepSeries, ALostRecordIsMadeUpForAndASilentRankHoldsNobodyUp) {
  StepSeries series;
  std::vector<JobStep> done;
  for (int64_t step = 0; step < 40; ++step) {
    for (int32_t rank = 0; rank < 3; ++rank) {
      if (rank == 1 && step == 10) continue;  // lost
      if (rank == 2 && step >= 20) continue;  // dead
      const int64_t at = (step + 1) * 100'000'000 + rank;
      series.push({rank, step, at, at, 0, 1}, at, done);
    }
  }
  ASSERT_THAT(done, SizeIs(39));
  for (const JobStep& step : done) EXPECT_NEAR(step.seconds, 0.1, 1e-6);
  EXPECT_EQ(done[9].ranks, 3);
  EXPECT_TRUE(series.ranks()[2].absent);
  EXPECT_EQ(done.back().ranks, 2);
}

TEST(StepSeries, NumbersThatGoBackAreANewBeginning) {
  StepSeries series;
  std::vector<JobStep> done;
  int64_t at = 0;
  for (const int64_t begin : {100, 60}) {
    for (int64_t step = begin; step < begin + 50; ++step) {
      at += 100'000'000;
      series.push({0, step, at, at, 0, 1}, at, done);
    }
    at += 60'000'000'000;
  }
  EXPECT_EQ(series.restarts(), 1);
  EXPECT_THAT(done, SizeIs(98));
  for (const JobStep& step : done) EXPECT_NEAR(step.seconds, 0.1, 1e-6);
}

TEST(StepSeries, ARankThatWasReplacedCountsOnFromTheOthers) {
  StepSeries series;
  std::vector<JobStep> done;
  int64_t at = 0;
  for (int64_t step = 1000; step < 1200; ++step) {
    at += 100'000'000;
    for (const int32_t rank : {0, 1, 2, 3}) {
      const int64_t own = rank == 2 && step >= 1100 ? step - 1100 : step;  // its process began anew
      series.push({rank, own, at, at, 0, 1}, at, done);
    }
  }
  EXPECT_EQ(series.restarts(), 0);
  EXPECT_THAT(done, SizeIs(199));
  EXPECT_EQ(done.back().ranks, 4);
  for (const RankState& rank : series.ranks()) EXPECT_NEAR(static_cast<double>(rank.step), 1199, 1);
}

TEST(StepSeries, AllRanksThatGoBackOneAfterTheOtherAreANewBeginning) {
  StepSeries series;
  std::vector<JobStep> done;
  int64_t at = 0;
  for (const int64_t begin : {1000, 900}) {
    for (int64_t step = begin; step < begin + 50; ++step) {
      at += 100'000'000;
      for (const int32_t rank : {0, 1, 2, 3}) series.push({rank, step, at, at, 0, 1}, at, done);
    }
  }
  EXPECT_EQ(series.restarts(), 1);
  EXPECT_EQ(done.back().number, 949);
  EXPECT_EQ(done.back().ranks, 4);
}

TEST(StepSeries, AbsurdRecordsDoNoHarm) {
  StepSeries series;
  std::vector<JobStep> done;
  Draw draw(5);
  const auto any = [&] { return static_cast<int64_t>((draw.uniform() - 0.5) * 1.8e19); };
  for (int i = 0; i < 20'000; ++i) {
    const int64_t step = draw.uniform() < 0.5 ? any() : static_cast<int64_t>(draw.uniform() * 100);
    series.push({static_cast<int32_t>(draw.uniform() * 5), step, any(), any(), any(), 1}, any(), done);
  }
  for (const JobStep& step : done) EXPECT_GT(step.seconds, 0);
}

// -- windows

TEST(Detector, TakesABaselineOnceItIsHealthyLongEnough) {
  Listener listener;
  healthy(listener, 400);
  ASSERT_THAT(listener.heard().events, SizeIs(1));
  const DetectorEvent& event = listener.heard().events[0];
  EXPECT_EQ(event.kind, Kind::kBaseline);
  EXPECT_TRUE(event.window);
  EXPECT_NEAR(static_cast<double>(event.step), 210, 5);
  Policy none;
  none.baseline.count = 0;
  Listener without(none);
  healthy(without, 400);
  EXPECT_THAT(without.heard().events, IsEmpty());
}

TEST(Detector, WindowsKeepTheirDistanceAndTheirBudget) {
  Policy policy;
  policy.baseline.count = 0;
  policy.window.budget_s_per_hour = 20;
  Listener listener(policy);
  for (int round = 0; round < 6; ++round) {
    healthy(listener, 120, 1, 1, 10 + static_cast<uint64_t>(round));
    for (int k = 0; k < 60; ++k) listener.step(1.5);
  }
  int64_t last = 0;
  int windows = 0;
  for (const DetectorEvent& event : listener.heard().events) {
    if (!event.window) continue;
    if (windows > 0) {
      EXPECT_GE(event.now_ns - last, 300'000'000'000);
    }
    last = event.now_ns;
    ++windows;
  }
  EXPECT_EQ(windows, 2);
  EXPECT_GE(listener.heard().count(Kind::kSlow), 5);
}

TEST(Detector, AWindowThatSpansStallsIsAskedForAndChargedAsLongAsItIs) {
  Policy policy;
  policy.baseline.count = 0;
  policy.window.length_s = 10;
  policy.window.budget_s_per_hour = 30;
  policy.window.cooldown_s = 0;
  Listener listener(policy);
  healthy(listener, 300, 1, 1);
  for (int k = 0; k < 400; ++k) listener.step(k % 16 == 0 ? 4 : 1);  // 19 s apart
  const DetectorEvent* slow = listener.heard().first(Kind::kSlow);
  ASSERT_NE(slow, nullptr);
  ASSERT_TRUE(slow->window);
  EXPECT_GT(slow->window_s, 15);
  for (int k = 0; k < 100; ++k) listener.step(2);
  double profiled_s = 0;
  for (const DetectorEvent& event : listener.heard().events) profiled_s += event.window_s;
  EXPECT_LE(profiled_s, 30);
}

TEST(Detector, AWindowThatWasDeniedIsTakenLater) {
  Policy policy;
  policy.baseline.count = 0;
  Listener listener(policy);
  healthy(listener, 200, 1, 1);
  for (int k = 0; k < 40; ++k) listener.step(1.5);
  healthy(listener, 60, 1, 1, 3);
  for (int k = 0; k < 300; ++k) listener.step(1.5);
  const DetectorEvent* still = listener.heard().first(Kind::kStillSlow);
  ASSERT_NE(still, nullptr);
  EXPECT_TRUE(still->window);
  EXPECT_NEAR(still->slow.level_ms, 1500, 1);
}

TEST(Detector, OnlyEligibleJobsAtEligibleHours) {
  Policy policy;
  policy.eligible.jobs = {"prod-*"};
  const auto denial = [&](const std::string& job) {
    Listener listener(policy, job);
    healthy(listener, 150, 1, 1);
    for (int k = 0; k < 40; ++k) listener.step(2);
    const DetectorEvent* slow = listener.heard().first(Kind::kSlow);
    return slow == nullptr ? WindowDenial::kBudget : slow->denied;
  };
  EXPECT_EQ(denial("dev-7"), WindowDenial::kJob);
  EXPECT_EQ(denial("prod-7"), WindowDenial::kNone);
  policy.eligible.hours_utc = {{0, 1}};
  EXPECT_EQ(denial("prod-7"), WindowDenial::kHours);
}

TEST(EligiblePolicy, PatternsAndHours) {
  EXPECT_TRUE(is_eligible({.jobs = {"a?c*"}}, "abcdef"));
  EXPECT_FALSE(is_eligible({.jobs = {"a?c"}}, "abcdef"));
  EXPECT_TRUE(is_eligible({.jobs = {"x", "*a*b*"}}, "zzaaazzb"));
  const auto at = [](int hours, int minutes) { return (int64_t{hours} * 60 + minutes) * 60'000'000'000; };
  const EligiblePolicy night{.jobs = {"*"}, .hours_utc = {{22 * 60, 6 * 60 + 30}}};
  EXPECT_TRUE(is_eligible_at(night, at(23, 0)));
  EXPECT_TRUE(is_eligible_at(night, at(6, 29)));
  EXPECT_FALSE(is_eligible_at(night, at(6, 30)));
  EXPECT_FALSE(is_eligible_at(night, at(12, 0)));
  EXPECT_TRUE(is_eligible_at({}, at(12, 0)));
}

// -- what is no measure of the job

TEST(Detector, OurOwnWindowsAndTheirTailsAreNotJudged) {
  Listener listener;
  healthy(listener, 200, 0.2);
  listener.detector().mask(listener.now_ns(), listener.now_ns() + 10'000'000'000);
  for (int k = 0; k < 30; ++k) listener.step(0.45, 2);  // 13.5 s, the last of it in the tail
  healthy(listener, 300, 0.2, 2, 2);
  EXPECT_EQ(listener.heard().count(Kind::kSlow), 0);
}

TEST(Detector, EvaluationsAreNoSlowdowns) {
  Listener listener;
  for (int round = 0; round < 8; ++round) {
    healthy(listener, 60, 1, 2, static_cast<uint64_t>(round) + 1);
    for (int k = 0; k < 10; ++k) listener.step(3, 2, 40);  // many fetches in each
  }
  EXPECT_EQ(listener.heard().count(Kind::kSlow), 0);
}

TEST(Detector, ARestartBeginsWithAWarmUpAndKeepsTheMeasure) {
  Listener listener;
  healthy(listener, 300);
  listener.silence(60);
  listener.go_on_from(200);
  for (int k = 0; k < 8; ++k) listener.step(6, 2);
  healthy(listener, 100, 1, 2, 2);
  EXPECT_EQ(listener.heard().count(Kind::kSlow), 0);
  healthy(listener, 100, 1.3, 2, 3);
  EXPECT_EQ(listener.heard().count(Kind::kSlow), 1);
}

TEST(Detector, TellsOfSkew) {
  StepSeries series;
  Listener listener;
  healthy(listener, 100, 1, 3);
  const std::vector<RankSkew> skew = listener.detector().skew();
  ASSERT_THAT(skew, SizeIs(3));
  EXPECT_NEAR(skew[1].step_ms, 1000, 30);
  EXPECT_NEAR(skew[1].step_excess_ms, 0, 1e-6);
  EXPECT_NEAR(skew[1].data_wait_ms, 1, 1e-6);
  listener.detector().leave(1);
  EXPECT_THAT(listener.detector().skew(), SizeIs(2));
}

TEST(Detector, SaysWhy) {
  Listener listener;
  healthy(listener, 200);
  for (int k = 0; k < 40; ++k) listener.step(1.5, 2);
  const DetectorEvent* slow = listener.heard().first(Kind::kSlow);
  ASSERT_NE(slow, nullptr);
  EXPECT_GE(slow->why.size(), 5);
  EXPECT_GT(slow->unix_ns, 1'790'000'000'000'000'000);
  EXPECT_EQ(detector_event_name(slow->kind), "slow");
}

}  // namespace
}  // namespace eroica::testing
