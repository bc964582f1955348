#include "pattern/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace eroica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kUs = 1'000;

SampleSeries series(const std::string& unit, std::vector<Sample> samples) {
  return {.entity = "rank 0", .metric = "m", .unit = unit, .samples = std::move(samples)};
}

/// A rate with the given value in each consecutive millisecond from 0 on.
SampleSeries per_ms(const std::vector<double>& values) {
  SampleSeries rate = series("cores", {{0, 0}});
  for (const double value : values) {
    rate.samples.push_back({static_cast<int64_t>(rate.samples.size()) * kMs, value});
  }
  return rate;
}

HardwareUse use_of(const SampleSeries& one, std::vector<Interval> executions, uint32_t longest_zero_run = 5) {
  return hardware_use(one, 0, executions, longest_zero_run);
}

TEST(HardwareUse, ARateSpeaksForTheTimeBeforeItsSample) {
  const SampleSeries rate = series("cores", {{0, 9}, {10 * kMs, 1}, {20 * kMs, 3}});
  const HardwareUse first = use_of(rate, {{0, 10 * kMs}});
  EXPECT_EQ(first.mean, 1);
  EXPECT_EQ(first.deviation, 0);
  EXPECT_EQ(first.covered_ns, 10 * kMs);
  EXPECT_EQ(first.metric, "m");
  EXPECT_EQ(first.entity, "rank 0");
  EXPECT_EQ(first.unit, "cores");
  EXPECT_EQ(use_of(rate, {{12 * kMs, 14 * kMs}}).mean, 3);
  EXPECT_EQ(use_of(rate, {{20 * kMs, 30 * kMs}}).covered_ns, 0) << "nothing is known after the last sample";
  EXPECT_EQ(use_of(rate, {{-5 * kMs, 0}}).covered_ns, 0) << "nor before the first";
}

TEST(HardwareUse, ALevelSpeaksForTheTimeAfterItsSample) {
  const SampleSeries level = series("watts", {{0, 100}, {10 * kMs, 300}});
  EXPECT_EQ(use_of(level, {{2 * kMs, 8 * kMs}}).mean, 100);
  const HardwareUse last = use_of(level, {{15 * kMs, 90 * kMs}});
  EXPECT_EQ(last.mean, 300);
  EXPECT_EQ(last.covered_ns, 5 * kMs) << "the last one for as long as the one before it";
  EXPECT_EQ(use_of(series("count", {{0, 8}}), {{50 * kMs, 60 * kMs}}).mean, 8) << "the only one for ever";
}

TEST(HardwareUse, SamplesWeighByTheirTime) {
  // 1 for 9 ms, 0.5 for 1 ms: all of it is critical.
  const SampleSeries rate = series("cores", {{0, 0}, {9 * kMs, 1}, {10 * kMs, 0.5}});
  const HardwareUse use = use_of(rate, {{4 * kMs, 10 * kMs}});
  EXPECT_EQ(use.covered_ns, 5 * kMs) << "the five at 1 hold more than 80 % of 5.5";
  EXPECT_EQ(use.mean, 1);

  const HardwareUse mixed = use_of(series("cores", {{0, 0}, {3 * kMs, 1}, {4 * kMs, 3}}), {{0, 4 * kMs}});
  EXPECT_EQ(mixed.covered_ns, 4 * kMs);
  EXPECT_DOUBLE_EQ(mixed.mean, 1.5);
  EXPECT_DOUBLE_EQ(mixed.deviation, std::sqrt(0.75 * 0.25 + 0.25 * 2.25));
}

TEST(HardwareUse, IdleEndsOfAnExecutionAreNotCritical) {
  const SampleSeries rate = per_ms({0, 0, 0, 1, 1, 1, 1, 0, 0, 0});
  const HardwareUse use = use_of(rate, {{0, 10 * kMs}});
  EXPECT_EQ(use.mean, 1);
  EXPECT_EQ(use.covered_ns, 4 * kMs);
}

TEST(HardwareUse, AGapOfZerosIsCrossedOnlyWhenShort) {
  const SampleSeries rate = per_ms({1, 1, 0, 0, 0, 1, 1});
  EXPECT_EQ(use_of(rate, {{0, 7 * kMs}}, 3).covered_ns, 7 * kMs);
  const HardwareUse split = use_of(rate, {{0, 7 * kMs}}, 2);
  EXPECT_EQ(split.covered_ns, 7 * kMs) << "no part on either side holds 80 %: the whole execution";
  EXPECT_DOUBLE_EQ(split.mean, 4.0 / 7);
  const HardwareUse one_side = use_of(per_ms({9, 9, 0, 0, 0, 1, 1}), {{0, 7 * kMs}}, 2);
  EXPECT_EQ(one_side.covered_ns, 2 * kMs);
  EXPECT_EQ(one_side.mean, 9);
}

TEST(HardwareUse, AnUnusedSignalIsZeroOverAllOfTheExecution) {
  const HardwareUse use = use_of(per_ms({0, 0, 0, 0}), {{0, 3 * kMs}});
  EXPECT_EQ(use.mean, 0);
  EXPECT_EQ(use.covered_ns, 3 * kMs);
}

TEST(HardwareUse, ShortExecutionsInsideOneSampleTakeItsValue) {
  const SampleSeries rate = series("cores", {{0, 0}, {20 * kMs, 0.5}});
  const HardwareUse use = use_of(rate, {{1 * kMs, 1 * kMs + 7}, {5 * kMs, 5 * kMs + 3}});
  EXPECT_EQ(use.mean, 0.5);
  EXPECT_EQ(use.covered_ns, 10);
}

TEST(HardwareUse, SharedTimeCountsOnce) {
  const SampleSeries rate = per_ms({1, 1, 1, 1});
  const HardwareUse use = use_of(rate, {{0, 2 * kMs}, {1 * kMs, 3 * kMs}, {0, 2 * kMs}});
  EXPECT_EQ(use.covered_ns, 3 * kMs);
}

TEST(HardwareUse, TheOriginMovesSamplesOntoTheExecutionsAxis) {
  const SampleSeries rate = series("cores", {{1000, 0}, {2000, 1}, {3000, 2}});
  const std::vector<Interval> executions = {{0, 500}};
  EXPECT_EQ(hardware_use(rate, -1200, executions).mean, 1);
  EXPECT_EQ(hardware_use(rate, -2000, executions).mean, 2);
}

TEST(HardwareUse, NothingKnownIsNoUse) {
  EXPECT_EQ(use_of(series("cores", {}), {{0, kMs}}).covered_ns, 0);
  EXPECT_EQ(use_of(series("cores", {{0, 1}}), {{0, kMs}}).covered_ns, 0);
  EXPECT_EQ(use_of(per_ms({1}), {}).covered_ns, 0);
  EXPECT_EQ(use_of(per_ms({1}), {{5, 5}, {9, 3}}).covered_ns, 0) << "empty and backward executions";
}

TEST(HardwareUse, AbsurdNumbersStandForNothing) {
  const double infinity = std::numeric_limits<double>::infinity();
  const SampleSeries rate = per_ms({1, infinity, std::nan(""), -infinity, 1e300, 3});
  const HardwareUse use = use_of(rate, {{0, 6 * kMs}});
  EXPECT_TRUE(std::isfinite(use.mean));
  EXPECT_TRUE(std::isfinite(use.deviation));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const SampleSeries extreme = series("watts", {{kLeast, 1}, {0, 2}, {kMost, 3}});
  const HardwareUse all = hardware_use(extreme, kMost, std::vector<Interval>{{kLeast, kMost}});
  EXPECT_TRUE(std::isfinite(all.mean));
  EXPECT_GE(all.covered_ns, 0);
}

TEST(HardwareUse, UnorderedSamplesDoNoHarm) {
  const SampleSeries rate = series("cores", {{5 * kMs, 1}, {1 * kMs, 2}, {9 * kMs, 3}, {9 * kMs, 4}});
  const HardwareUse use = use_of(rate, {{0, 10 * kMs}});
  EXPECT_TRUE(std::isfinite(use.mean));
}

// ---- a slow, obvious oracle ----

/// What sample stands for each microsecond of [0, length), −1 = none.
std::vector<int> grid(const SampleSeries& one, int64_t length_us) {
  std::vector<int> owner(static_cast<size_t>(length_us), -1);
  const bool rate = one.unit == "cores";
  const auto count = static_cast<int>(one.samples.size());
  for (int64_t us = 0; us < length_us; ++us) {
    for (int i = 0; i < count; ++i) {
      const auto at = [&](int k) { return one.samples[static_cast<size_t>(k)].time_ns; };
      const int64_t begin = rate ? (i > 0 ? at(i - 1) : at(i)) : at(i);
      const int64_t end = rate            ? at(i)
                          : i + 1 < count ? at(i + 1)
                          : count == 1    ? std::numeric_limits<int64_t>::max()
                                          : at(i) + (at(i) - at(i - 1));
      if (begin <= us * kUs && us * kUs < end) owner[static_cast<size_t>(us)] = i;
    }
  }
  return owner;
}

/// Marks the critical microseconds of an execution, by trying every stretch of samples.
void mark_critical(const SampleSeries& one, const std::vector<int>& owner, const Interval& execution,
                   uint32_t longest_zero_run, std::vector<bool>& critical) {
  struct Cell {
    size_t begin;
    size_t end;
    double use;
  };
  std::vector<Cell> cells;  // one a sample inside the execution
  double total = 0;
  for (auto us = static_cast<size_t>(execution.start_ns / kUs); us < static_cast<size_t>(execution.end_ns / kUs);
       ++us) {
    if (owner[us] < 0) continue;
    const double value = one.samples[static_cast<size_t>(owner[us])].value;
    if (cells.empty() || us != cells.back().end || owner[us] != owner[us - 1]) cells.push_back({us, us, 0});
    cells.back().end = us + 1;
    cells.back().use += value;
    total += value;
  }
  if (cells.empty()) return;
  std::pair<size_t, size_t> best{cells.front().begin, cells.back().end};
  bool found = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    double use = 0;
    uint32_t zeros = 0;
    for (size_t k = i; k < cells.size(); ++k) {
      zeros = cells[k].use > 0 ? 0 : zeros + 1;
      if (zeros > longest_zero_run) break;
      use += cells[k].use;
      // Whole numbers: 5 × use ≥ 4 × total is exact.
      if (total <= 0 || 5 * use < 4 * total) continue;
      const std::pair<size_t, size_t> part{cells[i].begin, cells[k].end};
      if (!found || part.second - part.first < best.second - best.first) best = part;
      found = true;
    }
  }
  for (size_t us = best.first; us < best.second; ++us) critical[us] = true;
}

HardwareUse slow_use(const SampleSeries& one, const std::vector<Interval>& executions, uint32_t longest_zero_run,
                     int64_t length_us) {
  const std::vector<int> owner = grid(one, length_us);
  std::vector<bool> critical(owner.size());
  for (const Interval& execution : executions) mark_critical(one, owner, execution, longest_zero_run, critical);
  HardwareUse use;
  double time = 0;
  for (size_t us = 0; us < owner.size(); ++us) {
    if (!critical[us] || owner[us] < 0) continue;
    use.mean += one.samples[static_cast<size_t>(owner[us])].value;
    time += 1;
  }
  if (time == 0) return use;
  use.mean /= time;
  for (size_t us = 0; us < owner.size(); ++us) {
    if (!critical[us] || owner[us] < 0) continue;
    use.deviation += std::pow(one.samples[static_cast<size_t>(owner[us])].value - use.mean, 2);
  }
  use.deviation = std::sqrt(use.deviation / time);
  use.covered_ns = static_cast<int64_t>(time) * kUs;
  return use;
}

TEST(HardwareUse, AgreesWithTheSlowWay) {
  EXPECT_TRUE(rc::check("mean, deviation and time are those of a walk over every microsecond", [] {
    constexpr int64_t kLengthUs = 200;
    SampleSeries one = series(*rc::gen::element<std::string>("cores", "watts"), {});
    int64_t at_us = *rc::gen::inRange<int64_t>(0, 40);
    const auto count = *rc::gen::inRange(0, 25);
    for (int i = 0; i < count; ++i) {
      one.samples.push_back({at_us * kUs, static_cast<double>(*rc::gen::element(0, 0, 0, 1, 2, 7))});
      at_us += *rc::gen::inRange<int64_t>(1, 15);
    }
    std::vector<Interval> executions;
    const auto executed = *rc::gen::inRange(1, 6);
    for (int i = 0; i < executed; ++i) {
      const auto start = *rc::gen::inRange<int64_t>(0, kLengthUs);
      const auto end = *rc::gen::inRange<int64_t>(start, kLengthUs + 1);
      executions.push_back({start * kUs, end * kUs});
    }
    const auto longest_zero_run = *rc::gen::inRange<uint32_t>(0, 4);
    const HardwareUse fast = hardware_use(one, 0, executions, longest_zero_run);
    const HardwareUse slow = slow_use(one, executions, longest_zero_run, kLengthUs);
    RC_ASSERT(fast.covered_ns == slow.covered_ns);
    RC_ASSERT(std::abs(fast.mean - slow.mean) < 1e-9);
    RC_ASSERT(std::abs(fast.deviation - slow.deviation) < 1e-9);
  }));
}

TEST(HardwareUse, TheOrderOfExecutionsDoesNotMatter) {
  EXPECT_TRUE(rc::check("shuffled executions give the same bits", [] {
    std::vector<double> values;
    for (int i = 0; i < 30; ++i) values.push_back(static_cast<double>(*rc::gen::inRange(0, 4)) / 3);
    std::vector<Interval> executions;
    for (int i = 0; i < 12; ++i) {
      const auto start = *rc::gen::inRange<int64_t>(0, 30 * kMs);
      executions.push_back({start, start + *rc::gen::inRange<int64_t>(0, 9 * kMs)});
    }
    const SampleSeries rate = per_ms(values);
    const HardwareUse use = use_of(rate, executions);
    const auto seed = *rc::gen::arbitrary<uint32_t>();
    std::shuffle(executions.begin(), executions.end(), std::minstd_rand(seed));
    RC_ASSERT(use_of(rate, executions) == use);
  }));
}

TEST(HardwareUse, ManyExecutionsThatAllOverlapStayCheap) {
  SampleSeries rate = per_ms(std::vector<double>(20'000, 1.0));
  std::vector<Interval> executions;
  for (int64_t i = 0; i < 20'000; ++i) executions.push_back({i, 20'000 * kMs - i});
  const auto begin = std::chrono::steady_clock::now();
  const HardwareUse use = use_of(rate, executions);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(use.mean, 1);
  EXPECT_LT(took.count(), 5) << "20,000 × 20,000 would take minutes";
}

TEST(HardwareUse, OnlyTheLongestExecutionsAreLookedAt) {
  // 5,000 short ones in a busy time, 4,096 long ones in an idle one.
  SampleSeries rate = per_ms({5});
  rate.samples.push_back({1000 * kMs, 1});
  std::vector<Interval> executions;
  for (int64_t i = 0; i < 5000; ++i) executions.push_back({i * 100, i * 100 + 50});
  for (int64_t i = 0; i < static_cast<int64_t>(kMaxCriticalExecutions); ++i) {
    executions.push_back({kMs + i * 200 * kUs, kMs + i * 200 * kUs + 100 * kUs});
  }
  EXPECT_EQ(use_of(rate, executions).mean, 1);
}

// ---- which series tell about a rank ----

std::vector<std::string> relevant(const std::vector<std::string>& entities, int32_t rank, const std::string& host,
                                  const std::string& machine, int32_t gpu) {
  SampleSet samples;
  for (const std::string& entity : entities) {
    samples.series.push_back({.entity = entity, .metric = "m", .unit = "count", .samples = {}});
  }
  std::vector<std::string> found;
  for (const SampleSeries* one : relevant_series(samples, rank, host, machine, gpu)) found.push_back(one->entity);
  return found;
}

TEST(RelevantSeries, TheRankItsHostItsMachineAndItsGpu) {
  EXPECT_THAT(
      relevant({"rank 2", "rank 20", "rank 2/worker 0", "rank 2/thread NCCL proxy", "rank 1", "host h2", "host h20",
                "host h2/nic eth0", "host h2/disk nvme0n1", "host h2/cpu7", "host h2/gpu 3", "host h2/gpu 31",
                "host h2/gpu 0", "host vm", "host vm/cpu0", "host vm/gpu 3", "host h1", "something else", ""},
               2, "h2", "vm", 3),
      ElementsAre("rank 2", "rank 2/worker 0", "rank 2/thread NCCL proxy", "host h2", "host h2/nic eth0",
                  "host h2/disk nvme0n1", "host h2/cpu7", "host h2/gpu 3", "host vm", "host vm/cpu0"));
}

TEST(RelevantSeries, WhatIsUnknownMatchesNothing) {
  EXPECT_THAT(relevant({"host h0/gpu 0", "host ", "host", "rank -1x", "rank 0"}, 1, "", "", -1), IsEmpty());
  EXPECT_THAT(relevant({"host h0/gpu 0", "host h0"}, 1, "h0", "", -1), ElementsAre("host h0"));
  EXPECT_THAT(relevant({"host h0", "host h0/cpu1"}, 1, "h0", "h0", 0), ElementsAre("host h0", "host h0/cpu1"));
}

TEST(RelevantSeries, KinetosOwnCounters) {
  EXPECT_THAT(relevant({"GPU 0 Counters"}, 5, "h", "", 3), ElementsAre("GPU 0 Counters"))
      << "the only device of a process that sees its GPUs renumbered";
  EXPECT_THAT(relevant({"GPU 0 Counters", "GPU 3 Counters", "GPU x Counters"}, 5, "h", "", 3),
              ElementsAre("GPU 3 Counters"));
  EXPECT_THAT(relevant({"GPU 0 Counters", "GPU 1 Counters"}, 5, "h", "", 3), IsEmpty());
}

}  // namespace
}  // namespace eroica
