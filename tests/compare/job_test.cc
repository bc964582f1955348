#include "compare/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace eroica {
namespace {

constexpr int64_t kMs = 1'000'000;

FunctionPattern function_of(uint64_t name, FunctionKind kind, int64_t exposed_ms, uint64_t executions = 10) {
  FunctionPattern function;
  function.name = name;
  function.kind = kind;
  function.executions = executions;
  function.total_ns = exposed_ms * kMs;
  function.self_ns = exposed_ms * kMs;
  function.exposed_ns = exposed_ms * kMs;
  function.durations.add(function.total_ns / static_cast<int64_t>(executions), executions);
  return function;
}

RankPattern pattern_of(int32_t rank) {
  RankPattern pattern;
  pattern.rank = rank;
  pattern.host = "node" + std::to_string(rank / 2);
  pattern.world_size = 4;
  pattern.window_ns = 1000 * kMs;
  pattern.step_source = StepSource::kMarker;
  for (int64_t i = 0; i < 10; ++i) {
    StepPattern step;
    step.number = i;
    step.start_ns = i * 100 * kMs;
    step.duration_ns = 100 * kMs;
    pattern.steps.push_back(step);
  }
  pattern.functions = {function_of(1, FunctionKind::kCompute, 400), function_of(2, FunctionKind::kPython, 100 + rank),
                       function_of(3, FunctionKind::kPython, 0)};
  return pattern;
}

TEST(Job, SharesAreOfTheWindow) {
  const std::vector<RankPattern> patterns{pattern_of(0), pattern_of(1)};
  const Job job = build_job(patterns, {});
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_NEAR(job.step_ms, 100, 1e-3);
  const auto uses = job.uses_of(job.ranks[1]);
  ASSERT_EQ(uses.size(), 2U);  // what takes no time is left out
  EXPECT_NEAR(uses[0].exposed, 0.4, 1e-6);
  EXPECT_NEAR(uses[1].exposed, 0.101, 1e-6);
  EXPECT_NEAR(uses[0].calls, 1, 1e-6);
  EXPECT_NEAR(uses[0].mean_us, 40'000, 1);
}

RC_GTEST_PROP(Job, TheOrderOfPatternsDoesNotMatter, ()) {
  std::vector<int32_t> order{0, 1, 2, 3};
  std::vector<RankPattern> patterns;
  for (size_t left = 4; left > 0; --left) {
    const auto at = *rc::gen::inRange<size_t>(0, left);
    patterns.push_back(pattern_of(order[at]));
    order.erase(order.begin() + static_cast<ptrdiff_t>(at));
  }
  const Job job = build_job(patterns, {});
  for (size_t i = 0; i < 4; ++i) {
    RC_ASSERT(job.ranks[i].rank == static_cast<int32_t>(i));
    RC_ASSERT(job.words[job.ranks[i].host] == "node" + std::to_string(i / 2));
    const auto uses = job.uses_of(job.ranks[i]);
    RC_ASSERT(uses.size() == 2U);
    RC_ASSERT(std::abs(uses[1].exposed - (0.1F + 0.001F * static_cast<float>(i))) < 1e-6F);
  }
}

TEST(Job, ARankKeepsItsLargestUses) {
  RankPattern pattern = pattern_of(0);
  pattern.functions.clear();
  for (uint64_t i = 0; i < 2 * Job::kMaxUses; ++i) {
    pattern.functions.push_back(function_of(100 + i, FunctionKind::kPython, static_cast<int64_t>(1 + i)));
  }
  const Job job = build_job(std::vector<RankPattern>{pattern}, {});
  const auto uses = job.uses_of(job.ranks[0]);
  ASSERT_EQ(uses.size(), Job::kMaxUses);
  EXPECT_TRUE(std::ranges::is_sorted(uses, std::ranges::greater{}, &FunctionUse::exposed));
  EXPECT_NEAR(uses.back().exposed, static_cast<double>(Job::kMaxUses + 1) * 1e-3, 1e-6);
}

TEST(Job, ARankThatOneHostSawAndAnotherOnlySampledIsOne) {
  RankPattern sampled;  // no trace
  sampled.rank = 1;
  sampled.host = "node0";
  sampled.window_ns = 1000 * kMs;
  sampled.signals.push_back({"cpu.runnable_wait", "rank 1", "cores", 0.5, 0, 0.5, 0.5, sampled.window_ns});
  ASSERT_FALSE(is_observed(sampled));
  for (const bool first : {true, false}) {
    std::vector<RankPattern> patterns{pattern_of(0), pattern_of(1), pattern_of(2)};
    patterns.insert(first ? patterns.begin() : patterns.end(), sampled);
    const Job job = build_job(patterns, {});
    ASSERT_EQ(job.ranks.size(), 3U);
    EXPECT_TRUE(job.ranks[1].observed);
    EXPECT_EQ(job.uses_of(job.ranks[1]).size(), 2U);
    ASSERT_EQ(job.entities.size(), 1U);
    EXPECT_EQ(job.entities[0].ranks, std::vector<uint32_t>{1}) << "and its samples are its own";
  }
}

TEST(Job, EntitiesAreOfTheirKind) {
  EXPECT_EQ(entity_kind("rank 3"), EntityKind::kRank);
  EXPECT_EQ(entity_kind("rank 3/worker 1"), EntityKind::kWorker);
  EXPECT_EQ(entity_kind("rank 3/thread 7"), EntityKind::kThread);
  EXPECT_EQ(entity_kind("host a"), EntityKind::kHost);
  EXPECT_EQ(entity_kind("host a/gpu 0"), EntityKind::kGpu);
  EXPECT_EQ(entity_kind("host a/nic eth0"), EntityKind::kNic);
  EXPECT_EQ(entity_kind("host a/disk sda"), EntityKind::kDisk);
  EXPECT_EQ(entity_kind("host a/cpu 5"), EntityKind::kCpu);
  EXPECT_EQ(entity_kind("nonsense"), EntityKind::kOther);
}

}  // namespace
}  // namespace eroica
