#include "diagnose/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace eroica
