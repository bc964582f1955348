#include "diagnose/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "diagnose/sample_job.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Diagnose, ASlowFunctionOfOneRank) {
  const Conclusion conclusion = conclude(slow_function_job());
  ASSERT_EQ(conclusion.diagnoses.size(), 1U);
  const Diagnosis& claim = conclusion.diagnoses.front();
  EXPECT_EQ(claim.cause, "code.slow_function");
  EXPECT_THAT(claim.ranks, ElementsAre(1));
  ASSERT_TRUE(claim.function.has_value());
  EXPECT_EQ(claim.function->name, "augment");
  EXPECT_EQ(claim.function->line, 40);
  EXPECT_NEAR(claim.lost_ms_per_step, 20, 1);
  EXPECT_GE(claim.confidence, kClaimConfidence);
  EXPECT_FALSE(claim.evidence.empty());
  EXPECT_THAT(conclusion.victims, ElementsAre(0, 2, 3));
  EXPECT_NEAR(conclusion.what_if.step_ms_without_findings, 80, 1);
}

/// Each rank's training thread runs for its part of the time, and waits for a CPU for another.
std::vector<RankPattern> on_a_busy_host(std::vector<RankPattern> patterns, const std::vector<double>& runs,
                                        const std::vector<double>& waits) {
  for (RankPattern& pattern : patterns) {
    const auto rank = static_cast<size_t>(pattern.rank);
    const std::string entity = "rank " + std::to_string(pattern.rank);
    for (const auto& [metric, value] :
         {std::pair("cpu.main_thread_run", runs[rank]), std::pair("cpu.main_thread_runnable_wait", waits[rank])}) {
      pattern.signals.push_back({metric, entity, "fraction", value, 0, value, value, pattern.window_ns});
    }
  }
  return patterns;
}

TEST(Diagnose, ARankThatWantsMoreOfABusyHostsCpusWaitsLongerForThemAndIsNoVictim) {
  const Conclusion busy =
      conclude(on_a_busy_host(slow_function_job(), {0.04, 0.12, 0.04, 0.04}, {0.03, 0.09, 0.03, 0.03}));
  ASSERT_FALSE(busy.diagnoses.empty());
  EXPECT_EQ(busy.diagnoses[0].cause, "code.slow_function");
  EXPECT_EQ(busy.diagnoses[0].ranks, std::vector<int32_t>{1});
  const Conclusion neighbour =
      conclude(on_a_busy_host(slow_function_job(), {0.5, 0.5, 0.5, 0.5}, {0.01, 0.3, 0.01, 0.01}));
  ASSERT_FALSE(neighbour.diagnoses.empty());
  EXPECT_EQ(neighbour.diagnoses[0].cause, "cpu.contention");
}

TEST(Diagnose, KernelsThatNoPeerRunsExplainNoMoreThanTheyTake) {
  std::vector<RankPattern> patterns = even_job(false);
  patterns[1] = sample_rank(1, 60, 21, false);
  FunctionPattern other = sample_function(4, FunctionKind::kCompute, 3);
  FunctionPattern& product = patterns[1].functions[0];
  product.total_ns = product.self_ns = product.exposed_ns = 57 * kMs * kSampleSteps;
  patterns[1].functions.push_back(other);
  NameTable names = sample_names();
  names[4] = {"aten::rand", "", "", FunctionKind::kCompute, {}};
  const Job job = build_job(patterns, names);
  const Comparison now(job, names);
  const RuleSet rules = standard_rules();
  const Conclusion conclusion = diagnose(now, nullptr, rules.rules);
  ASSERT_FALSE(conclusion.diagnoses.empty());
  EXPECT_EQ(conclusion.diagnoses[0].cause, "code.slow_function");
}

TEST(Diagnose, AHotGpu) {
  const Conclusion conclusion = conclude(hot_job(true, true));
  ASSERT_EQ(conclusion.diagnoses.size(), 1U);
  const Diagnosis& claim = conclusion.diagnoses.front();
  EXPECT_EQ(claim.cause, "gpu.thermal_throttle");
  EXPECT_THAT(claim.ranks, ElementsAre(2));
  EXPECT_EQ(claim.component, "host node0/gpu 2");
  EXPECT_NEAR(claim.lost_ms_per_step, 15, 2);
}

TEST(Diagnose, NothingOfWhereNothingDiffers) {
  for (const bool gpu : {false, true}) {
    const Conclusion conclusion = conclude(even_job(gpu));
    EXPECT_THAT(conclusion.diagnoses, IsEmpty());
    EXPECT_THAT(conclusion.victims, IsEmpty());
    ASSERT_EQ(conclusion.peer_groups.size(), 1U);
    EXPECT_THAT(conclusion.peer_groups[0].ranks, ElementsAre(0, 1, 2, 3));
  }
  EXPECT_THAT(conclude(hot_job(false, false)).diagnoses, IsEmpty());
}

TEST(Diagnose, NoClaimFromASignalThatSlowsNothing) {
  for (const Diagnosis& claim : conclude(hot_job(false, true)).diagnoses) {
    ADD_FAILURE() << claim.cause << ": " << claim.summary;
  }
}

TEST(Diagnose, NoThrottleWithoutItsSignal) {
  for (const Diagnosis& claim : conclude(hot_job(true, false)).diagnoses)
    EXPECT_NE(claim.cause, "gpu.thermal_throttle");
}

TEST(Diagnose, OneRankAloneStandsOutFromNobody) {
  for (const Diagnosis& claim : conclude({slow_function_job()[1]}).diagnoses) EXPECT_EQ(claim.scope, Scope::kAll);
}

std::vector<RankPattern> job_on_two_hosts(size_t ranks) {
  std::vector<RankPattern> patterns = even_job(true);
  patterns.resize(ranks);
  for (RankPattern& pattern : patterns) {
    pattern.host = static_cast<size_t>(pattern.rank) < ranks / 2 ? "node0" : "node1";
    pattern.groups[0].ranks.resize(ranks);
    pattern.groups[0].size = static_cast<int32_t>(ranks);
    pattern.labels = {{"driver", "535"}, {"env.CUDA_VISIBLE_DEVICES", std::to_string(pattern.rank)}};
  }
  return patterns;
}

void slow_down(RankPattern& pattern, const std::map<std::string, std::string>& labels) {
  const RankPattern slow = sample_rank(pattern.rank, 60, 16, true);
  pattern.budget = slow.budget;
  pattern.steps = slow.steps;
  pattern.functions = slow.functions;
  pattern.collectives = slow.collectives;
  for (const auto& [key, value] : labels) pattern.labels[key] = value;
}

TEST(Diagnose, OfTwoHalvesThatDifferTheSlowOneIsOdd) {
  std::vector<RankPattern> patterns = job_on_two_hosts(4);
  for (const size_t rank : {2U, 3U}) slow_down(patterns[rank], {{"driver", "525"}});
  const Conclusion conclusion = conclude(patterns);
  ASSERT_EQ(conclusion.diagnoses.size(), 1U);
  EXPECT_EQ(conclusion.diagnoses[0].cause, "config.version_skew");
  EXPECT_THAT(conclusion.diagnoses[0].ranks, ElementsAre(2, 3));
  for (const Diagnosis& hint : conclusion.hints) EXPECT_NE(hint.cause, "config.version_skew");
}

TEST(Diagnose, AVariableThatOnlyOneOfTwoRanksHas) {
  std::vector<RankPattern> patterns = job_on_two_hosts(2);
  slow_down(patterns[1], {{"env.CUDA_LAUNCH_BLOCKING", "1"}});
  const Conclusion conclusion = conclude(patterns);
  ASSERT_EQ(conclusion.diagnoses.size(), 1U);
  EXPECT_EQ(conclusion.diagnoses[0].cause, "config.environment_differs");
  EXPECT_THAT(conclusion.diagnoses[0].ranks, ElementsAre(1));
}

TEST(Diagnose, AValueOfItsOwnOnEachRankIsNoDifference) {
  std::vector<RankPattern> patterns = job_on_two_hosts(2);
  slow_down(patterns[1], {});
  for (const Diagnosis& claim : conclude(patterns).diagnoses)
    EXPECT_FALSE(claim.cause.starts_with("config.")) << claim.cause;
}

TEST(Diagnose, LabelsThatDifferCostNothingByThemselves) {
  std::vector<RankPattern> patterns = job_on_two_hosts(4);
  for (RankPattern& pattern : patterns) {
    pattern.labels["env.NCCL_HOSTID"] = pattern.host;
    if (pattern.host == "node1") pattern.labels["env.NCCL_DEBUG"] = "INFO";
    if (pattern.host == "node1") pattern.labels["driver"] = "525";
  }
  EXPECT_THAT(conclude(patterns).diagnoses, IsEmpty());
  EXPECT_THAT(conclude(patterns).hints, IsEmpty());
}

// Rank 1 and rank 3 compute longer; a lower limit is told of the one, and the reason of its clock of the other.
TEST(Diagnose, TwoCulpritsOfOneCauseThatShowDifferently) {
  std::vector<RankPattern> patterns;
  for (int32_t rank = 0; rank < 8; ++rank) {
    const bool capped = rank == 3 || rank == 5;
    patterns.push_back(sample_rank(rank, capped ? 75 : 60, 1, true));
    RankPattern& pattern = patterns.back();
    pattern.world_size = 8;
    pattern.groups = {{"0", "default_pg", {0, 1, 2, 3, 4, 5, 6, 7}, 8}};
    add_gpu_signal(pattern, "gpu.sm_clock", "hz", capped ? 1.13e9 : 1.41e9);
    add_gpu_signal(pattern, "gpu.power_limit", "watts", rank == 3 ? 280 : 400);
    add_gpu_signal(pattern, "gpu.throttle_power", "fraction", rank == 5 ? 0.9 : 0);
  }
  const Conclusion conclusion = conclude(patterns);
  std::set<int32_t> culprits;
  for (const Diagnosis& claim : conclusion.diagnoses) {
    EXPECT_EQ(claim.cause, "gpu.power_cap");
    EXPECT_NEAR(claim.lost_ms_per_step, 15, 2);
    culprits.insert(claim.ranks.begin(), claim.ranks.end());
  }
  EXPECT_THAT(culprits, ElementsAre(3, 5));
  EXPECT_THAT(conclusion.victims, ElementsAre(0, 1, 2, 4, 6, 7));
}

TEST(Diagnose, TheSameLockOnAllGpusIsASitesChoice) {
  std::vector<RankPattern> patterns = even_job(true);
  for (RankPattern& pattern : patterns) {
    add_gpu_signal(pattern, "gpu.sm_clock", "hz", 1.2e9);
    add_gpu_signal(pattern, "gpu.clock_locked", "fraction", 1);
  }
  EXPECT_THAT(conclude(patterns).diagnoses, IsEmpty());
}

void expect_same(const Conclusion& a, const Conclusion& b) {
  ASSERT_EQ(a.diagnoses.size(), b.diagnoses.size());
  for (size_t i = 0; i < a.diagnoses.size(); ++i) {
    EXPECT_EQ(a.diagnoses[i].cause, b.diagnoses[i].cause);
    EXPECT_EQ(a.diagnoses[i].summary, b.diagnoses[i].summary);
    EXPECT_EQ(a.diagnoses[i].ranks, b.diagnoses[i].ranks);
    EXPECT_EQ(a.diagnoses[i].confidence, b.diagnoses[i].confidence);
    EXPECT_EQ(a.diagnoses[i].lost_ms_per_step, b.diagnoses[i].lost_ms_per_step);
  }
  EXPECT_EQ(a.hints.size(), b.hints.size());
  EXPECT_EQ(a.victims, b.victims);
  EXPECT_EQ(a.signals_missing, b.signals_missing);
}

TEST(Diagnose, TheOrderOfPatternsDoesNotMatter) {
  for (std::vector<RankPattern> patterns : {slow_function_job(), hot_job(true, true)}) {
    const Conclusion first = conclude(patterns);
    std::ranges::reverse(patterns);
    expect_same(conclude(patterns), first);
    std::ranges::rotate(patterns, patterns.begin() + 1);
    expect_same(conclude(patterns), first);
  }
}

/// Four stages of one rank each.
std::vector<RankPattern> pipeline_of(std::vector<RankPattern> patterns) {
  for (RankPattern& pattern : patterns) {
    pattern.groups.push_back({"1", "PIPELINE_MODEL_PARALLEL_GROUP", {0, 1, 2, 3}, 4});
  }
  return patterns;
}

TEST(Diagnose, InAPipelineWithoutReplicasUserCodeOnTheCriticalPathIsFoundAndTheDoubtTold) {
  std::vector<RankPattern> patterns = even_job(true);
  patterns[2] = sample_rank(2, 60, 21, true);
  const Conclusion found = conclude(pipeline_of(patterns));
  ASSERT_EQ(found.peer_groups.size(), 4U);
  ASSERT_EQ(found.diagnoses.size(), 1U);
  EXPECT_EQ(found.diagnoses[0].cause, "code.slow_function");
  EXPECT_THAT(found.diagnoses[0].ranks, testing::ElementsAre(2));
  EXPECT_THAT(found.diagnoses[0].confidence_why, testing::Contains(testing::HasSubstr("nobody to compare with")));
}

TEST(Diagnose, InAPipelineWithoutReplicasAnEvenOneIsHealthy) {
  const Conclusion found = conclude(pipeline_of(even_job(true)));
  EXPECT_TRUE(found.diagnoses.empty());
}

}  // namespace
}  // namespace eroica
