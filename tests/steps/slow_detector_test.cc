#include "steps/slow_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steps/step_series.h"

namespace eroica::testing {
namespace {

using Kind = DetectorEvent::Kind;

/// The first alarm at or after `onset`; −1 where there is none, −2 where there is one before.
int64_t delay(const Heard& heard, int64_t onset) {
  for (const DetectorEvent& event : heard.events) {
    if (event.kind != Kind::kSlow) continue;
    return event.step < onset ? -2 : event.step - onset;
  }
  return -1;
}

std::vector<double> shifted(uint64_t seed, double seconds, double sigma, size_t onset, double by, size_t count = 1200) {
  return steps_of(seed, count, seconds, sigma,
                  [=](size_t k, double step) { return k < onset ? step : step * (1 + by); });
}

TEST(SlowDetector, HealthyNoiseOfAnyKindIsNoSlowdown) {
  size_t alarms = 0;
  size_t steps = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    for (const double sigma : {0.003, 0.02, 0.1, 0.3}) {
      Draw draw(seed * 31);
      const auto tails = [&](size_t, double step) {
        return draw.uniform() < 0.02 ? step * (1 - 0.6 * std::log(draw.uniform())) : step;
      };
      alarms += listen(steps_of(seed, 1000, 0.5, sigma, tails)).count(Kind::kSlow);
      steps += 1000;
    }
  }
  EXPECT_LE(static_cast<double>(alarms) * 1e5 / static_cast<double>(steps), 2.0) << alarms << " in " << steps;
}

TEST(SlowDetector, LargeShiftsAreToldWithinAFewSteps) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const int64_t at_one_second = delay(listen(shifted(seed, 1, 0.02, 300, 1.0)), 300);
    EXPECT_GE(at_one_second, 0);
    EXPECT_LE(at_one_second, 12);
    const int64_t at_half_a_minute = delay(listen(shifted(seed, 30, 0.02, 300, 1.0)), 300);
    EXPECT_GE(at_half_a_minute, 0);
    EXPECT_LE(at_half_a_minute, 12);
    const int64_t fast = delay(listen(shifted(seed, 0.1, 0.02, 300, 1.0)), 300);
    EXPECT_GE(fast, 0);
    EXPECT_LE(fast, 15);
  }
}

TEST(SlowDetector, SmallLastingShiftsAreTold) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Heard heard = listen(shifted(seed, 0.5, 0.02, 500, 0.03));
    const int64_t after = delay(heard, 500);
    EXPECT_GE(after, 0) << seed;
    EXPECT_LE(after, 120) << seed;
    const DetectorEvent* slow = heard.first(Kind::kSlow);
    ASSERT_NE(slow, nullptr);
    EXPECT_EQ(slow->slow.kind, SlowKind::kShift);
    EXPECT_NEAR(static_cast<double>(slow->slow.onset_step), 500, 40);
    EXPECT_NEAR(slow->slow.baseline_ms, 500, 5);
    EXPECT_NEAR(slow->slow.excess_ms, 15, 10);
    EXPECT_GT(slow->slow.confidence, 0.8);
  }
}

TEST(SlowDetector, WhatCannotMatterIsNotTold) {
  for (uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(delay(listen(shifted(seed, 0.5, 0.002, 500, 0.01)), 500), -1);
}

TEST(SlowDetector, WhatIsOverSoonIsNotTold) {
  const auto hiccup = [](size_t k, double step) { return k >= 400 && k < 412 ? step * 1.3 : step; };
  for (uint64_t seed = 1; seed <= 10; ++seed)
    EXPECT_EQ(delay(listen(steps_of(seed, 900, 0.07, 0.02, hiccup)), 400), -1);
}

TEST(SlowDetector, LostTimeIsToldThoughTheMedianHardlyMoves) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Draw draw(seed * 77);
    const auto stalls = [&](size_t k, double step) { return k >= 500 && draw.uniform() < 0.15 ? step * 1.5 : step; };
    const Heard heard = listen(steps_of(seed, 1500, 0.1, 0.02, stalls));
    const int64_t after = delay(heard, 500);
    EXPECT_GE(after, 0) << seed;
    EXPECT_LE(after, 250) << seed;
    ASSERT_NE(heard.first(Kind::kSlow), nullptr);
    EXPECT_EQ(heard.first(Kind::kSlow)->slow.kind, SlowKind::kLostTime);
  }
}

TEST(SlowDetector, NewPeriodicStallsAreTold) {
  const auto stalls = [](size_t k, double step) { return k >= 500 && k % 10 == 3 ? step * 3 : step; };
  const Heard heard = listen(steps_of(3, 900, 0.1, 0.02, stalls));
  const int64_t after = delay(heard, 500);
  EXPECT_GE(after, 0);
  EXPECT_LE(after, 80);
  ASSERT_NE(heard.first(Kind::kSlow), nullptr);
  EXPECT_EQ(heard.first(Kind::kSlow)->slow.kind, SlowKind::kPeriodicStall);
  EXPECT_NEAR(heard.first(Kind::kSlow)->slow.period_steps, 10, 0.5);
  EXPECT_NEAR(heard.first(Kind::kSlow)->slow.stall_spacing_s, 1.2, 0.05);
}

TEST(SlowDetector, StallsFromTheStartAreNormalUnlessTheyCostTooMuch) {
  const auto every = [](size_t period, double times) {
    return [=](size_t k, double step) { return k % period == period - 1 ? step * times : step; };
  };
  for (const size_t period : {20, 50, 100, 250, 400}) {
    const auto checkpoints = every(period, 1 + 0.2 * static_cast<double>(period));
    EXPECT_EQ(delay(listen(steps_of(4, 3000, 0.5, 0.02, checkpoints)), 0), -1) << period;
  }
  EXPECT_GE(delay(listen(steps_of(4, 600, 0.5, 0.02, every(4, 5))), 0), 0);
  Policy lenient;
  lenient.slow.periodic_from_start_percent = 500;
  EXPECT_EQ(delay(listen(steps_of(4, 600, 0.5, 0.02, every(4, 5)), lenient), 0), -1);
}

TEST(SlowDetector, DriftIsToldAsSuch) {
  const auto drift = [](size_t k, double step) {
    return step * (1 + 1e-4 * std::max(0.0, static_cast<double>(k) - 500));
  };
  const Heard heard = listen(steps_of(5, 2500, 0.5, 0.01, drift));
  ASSERT_NE(heard.first(Kind::kSlow), nullptr);
  EXPECT_EQ(heard.first(Kind::kSlow)->slow.kind, SlowKind::kDrift);
  EXPECT_LT(delay(heard, 500), 1000);
}

TEST(SlowDetector, WarmUpAndBecomingFasterAreNoSlowdowns) {
  const auto settling = [](size_t k, double step) {
    return step * (1 + 5 * std::exp(-static_cast<double>(k) / 4) + (k < 200 ? 0.3 : 0));
  };
  const Heard heard = listen(steps_of(6, 1000, 0.5, 0.02, settling));
  EXPECT_EQ(heard.count(Kind::kSlow), 0);
  // The faster level is the measure from then on.
  const auto and_back = [&](size_t k, double step) { return settling(k, step) * (k >= 700 ? 1.2 : 1.0); };
  EXPECT_GE(delay(listen(steps_of(6, 1000, 0.5, 0.02, and_back)), 700), 0);
}

TEST(SlowDetector, RecoversAndTellsAgain) {
  const auto twice = [](size_t k, double step) {
    return (k >= 400 && k < 600) || (k >= 900 && k < 1100) ? step * 1.2 : step;
  };
  const Heard heard = listen(steps_of(7, 1400, 0.5, 0.02, twice));
  EXPECT_EQ(heard.count(Kind::kSlow), 2);
  EXPECT_EQ(heard.count(Kind::kRecovered), 2);
  const DetectorEvent* recovered = heard.first(Kind::kRecovered);
  ASSERT_NE(recovered, nullptr);
  EXPECT_NEAR(static_cast<double>(recovered->step), 625, 25);
}

TEST(SlowDetector, TellsWhenItGetsWorse) {
  const auto stairs = [](size_t k, double step) { return step * (k < 400 ? 1.0 : k < 700 ? 1.2 : 1.6); };
  const Heard heard = listen(steps_of(8, 1000, 0.5, 0.02, stairs));
  ASSERT_EQ(heard.count(Kind::kSlow), 2);
  const auto& last = heard.events.back();
  EXPECT_TRUE(last.slow.worse);
  EXPECT_NEAR(static_cast<double>(last.slow.onset_step), 700, 3);
  EXPECT_NEAR(last.slow.level_ms, 800, 20);
  EXPECT_NEAR(last.slow.baseline_ms, 500, 10);  // still the healthy one
}

TEST(SlowDetector, CanBeTurnedOff) {
  Policy off;
  off.slow.enabled = false;
  EXPECT_EQ(listen(shifted(1, 1, 0.02, 300, 1.0), off).count(Kind::kSlow), 0);
}

TEST(PublishedDetector, AlarmsOnHealthyTailsWhereTheFullOneDoesNot) {
  Policy published;
  published.method = DetectorMethod::kEroica;
  Draw draw(9);
  const auto tails = [&](size_t, double step) { return draw.uniform() < 0.03 ? step * 1.8 : step; };
  const std::vector<double> steps = steps_of(9, 2000, 0.1, 0.02, tails);
  EXPECT_GT(listen(steps, published).count(Kind::kSlow), 0);
  EXPECT_EQ(listen(steps).count(Kind::kSlow), 0);
  EXPECT_GE(delay(listen(shifted(1, 1, 0.005, 300, 0.2), published), 300), 0);
}

}  // namespace
}  // namespace eroica::testing
