#include "pattern/signals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "pattern/hardware.h"
#include "pattern/summarize.h"
#include "support/trace_builder.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SampleSeries series(const std::string& entity, const std::string& metric, const std::string& unit,
                    std::vector<Sample> samples) {
  return {entity, metric, unit, std::move(samples)};
}

TEST(SignalUse, ARateWeighsByTheTimeBeforeItsSampleWithinTheWindow) {
  const SignalUse use =
      signal_use(series("rank 0", "cpu.run", "cores", {{-50, 9}, {50, 1}, {80, 3}, {200, 2}}), 0, 100);
  EXPECT_EQ(use.covered_ns, 100);
  EXPECT_DOUBLE_EQ(use.mean, (50 * 1 + 30 * 3 + 20 * 2) / 100.0);
  EXPECT_DOUBLE_EQ(use.minimum, 1);
  EXPECT_DOUBLE_EQ(use.maximum, 3);
  EXPECT_NEAR(use.deviation, std::sqrt((50 * 0.64 + 30 * 1.44 + 20 * 0.04) / 100), 1e-12);
}

TEST(SignalUse, ALevelStandsUntilItsNextSample) {
  const SignalUse use = signal_use(series("rank 0", "memory.rss", "bytes", {{-10, 5}, {20, 7}, {60, 1}}), 0, 80);
  EXPECT_EQ(use.covered_ns, 80);
  EXPECT_DOUBLE_EQ(use.mean, (20 * 5 + 40 * 7 + 20 * 1) / 80.0);
  EXPECT_DOUBLE_EQ(use.minimum, 1);
  EXPECT_DOUBLE_EQ(use.maximum, 7);
}

TEST(SignalUse, WhatLiesOutsideOrIsNoNumberStandsForNothing) {
  EXPECT_EQ(signal_use(series("rank 0", "cpu.run", "cores", {{200, 1}, {300, 1}}), 0, 100).covered_ns, 0);
  EXPECT_EQ(signal_use(series("rank 0", "cpu.run", "cores", {{0, 1}}), 0, 100).covered_ns, 0) << "no time before it";
  EXPECT_EQ(signal_use(series("rank 0", "cpu.run", "cores", {}), 0, 100).covered_ns, 0);
  const SignalUse use = signal_use(series("r", "m", "cores", {{0, 0}, {10, NAN}, {30, 4}, {40, 1e31}}), 0, 100);
  EXPECT_EQ(use.covered_ns, 20);
  EXPECT_DOUBLE_EQ(use.mean, 4);
}

RC_GTEST_PROP(SignalUse, LiesBetweenItsExtremes, ()) {
  SampleSeries one{"rank 0", "m", *rc::gen::elementOf(std::vector<std::string>{"cores", "bytes"}), {}};
  int64_t at_ns = *rc::gen::inRange(-100, 100);
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    one.samples.push_back({at_ns, static_cast<double>(*rc::gen::inRange(-9, 9)) / 10});
    at_ns += *rc::gen::inRange(0, 40);
  }
  const SignalUse use = signal_use(one, 0, 200);
  RC_ASSERT(use.covered_ns >= 0 && use.covered_ns <= 200);
  RC_ASSERT(use.minimum <= use.mean + 1e-9 && use.mean <= use.maximum + 1e-9);
  RC_ASSERT(use.deviation <= use.maximum - use.minimum + 1e-9);
}

TEST(Signals, OfTheBundleAndOfTheTraceAreCarriedInOrder) {
  TraceBuilder b;
  b.kernel("gemm", 0, 1000);
  b.trace.samples.series.push_back(series("GPU 3 Counters", "smsp__cycles", "", {{0, 5}}));
  SampleSet samples;
  samples.base_unix_ns = -1'000'000;  // its axis begins 1 ms before the trace's
  samples.series = {series("rank 2", "cpu.run", "cores", {{1'000'000, 0}, {1'500'000, 2}, {2'000'000, 4}}),
                    series("host a/gpu 3", "gpu.sm_clock", "hz", {{0, 1e9}}),
                    series("host a/gpu 4", "gpu.sm_clock", "hz", {{0, 2e9}}),
                    series("host a", "cpu.busy", "fraction", {{9'000'000, 0}, {9'500'000, 1}}),
                    series("rank 3", "cpu.run", "cores", {{1'000'000, 0}, {2'000'000, 9}})};
  SummarizeInput input;
  input.rank.rank = 2;
  input.rank.host = "a";
  input.rank.gpu = 3;
  input.samples = &samples;
  input.window = WindowSpec{0, 1'000'000};
  NameTable names;
  b.trace.sort();
  const RankPattern pattern = summarize(b.trace, input, names);
  ASSERT_EQ(pattern.signals.size(), 3u);
  EXPECT_EQ(pattern.signals[0], (SignalUse{"cpu.run", "rank 2", "cores", 3, 1, 2, 4, 1'000'000}));
  EXPECT_EQ(pattern.signals[1], (SignalUse{"gpu.sm_clock", "host a/gpu 3", "hz", 1e9, 0, 1e9, 1e9, 1'000'000}));
  EXPECT_EQ(pattern.signals[2], (SignalUse{"smsp__cycles", "GPU 3 Counters", "", 5, 0, 5, 5, 1'000'000}));
}

SignalUse signal(const std::string& metric, const std::string& entity, double mean = 0) {
  return {metric, entity, "fraction", mean, 0, mean, mean, 1000};
}

TEST(Signals, TheMostTellingOnesAreKept) {
  std::vector<SignalUse> signals;
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    signals.push_back(signal("cpu.busy", "host a/cpu" + number, 1));
    signals.push_back(signal("cpu.softirq", "host a/cpu" + number, i / 100.0));
    signals.push_back(signal("cpu.run", "rank 1/thread t" + number, i));
  }
  for (const char* entity : {"rank 1", "host a/gpu 1", "host a", "host vm", "host a/nic n", "host a/disk d"}) {
    signals.push_back(signal("m", entity));
  }
  sort_signals(signals);
  std::vector<SignalUse> kept = signals;
  keep_signals(kept, kMostSignals);
  std::map<std::string, int> count;
  for (const SignalUse& use : kept) {
    ++count[use.metric];
  }
  EXPECT_EQ(count["m"], 6);
  EXPECT_EQ(count["cpu.run"], 100);
  EXPECT_EQ(count["cpu.busy"], 0);
  EXPECT_EQ(count["cpu.softirq"], 16);
  EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [](const SignalUse& use) { return use.entity == "host a/cpu99"; }));

  keep_signals(kept, 10);
  ASSERT_EQ(kept.size(), 10u);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const SignalUse& use) { return use.metric == "m"; }), 6);
  EXPECT_EQ(kept[0].entity, "rank 1/thread t96") << "the busiest threads";
  keep_signals(kept, 4);
  const auto entities = [&] {
    std::vector<std::string> all;
    for (const SignalUse& use : kept) all.push_back(use.entity);
    return all;
  };
  EXPECT_THAT(entities(), ElementsAre("host a", "host a/gpu 1", "host vm", "rank 1"));
  keep_signals(kept, 0);
  EXPECT_THAT(kept, IsEmpty());
}

TEST(Signals, TooManyAreBoundedWhenAPatternIsMade) {
  std::vector<SampleSeries> all;
  for (int i = 0; i < 2000; ++i) {
    all.push_back(series("rank 0/thread " + std::to_string(i), "cpu.run", "cores", {{0, 0}, {100, i / 1000.0}}));
  }
  all.push_back(series("rank 0", "cpu.run", "cores", {{0, 0}, {100, 1}}));
  std::vector<const SampleSeries*> relevant;
  for (const SampleSeries& one : all) relevant.push_back(&one);
  RankPattern pattern;
  pattern.window_ns = 100;
  add_signals(relevant, 0, pattern);
  EXPECT_EQ(pattern.signals.size(), kMostSignals);
  EXPECT_EQ(pattern.signals.front().entity, "rank 0");
}

}  // namespace
}  // namespace eroica
