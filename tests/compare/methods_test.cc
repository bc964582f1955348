#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/eroica_method.h"
#include "compare/naive_methods.h"

namespace eroica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kWindowNs = 1'000'000'000;

FunctionPattern function_of(uint64_t name, FunctionKind kind, double share, uint64_t executions = 10) {
  FunctionPattern function;
  function.name = name;
  function.kind = kind;
  function.executions = executions;
  function.exposed_ns = static_cast<int64_t>(share * kWindowNs);
  function.total_ns = function.exposed_ns;
  return function;
}

HardwareUse hardware(const std::string& metric, double mean, double deviation) {
  return {metric, "host a/gpu 0", "fraction", mean, deviation, kWindowNs};
}

constexpr uint64_t kKernel = 1;
constexpr uint64_t kFrame = 2;
constexpr uint64_t kReduce = 3;

/// Ranks with a kernel on 60 %, a frame on half a percent, a collective on 20 %.
std::vector<RankPattern> job(int32_t ranks) {
  std::vector<RankPattern> patterns(static_cast<size_t>(ranks));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    RankPattern& pattern = patterns[static_cast<size_t>(rank)];
    pattern.rank = rank;
    pattern.window_ns = kWindowNs;
    pattern.functions = {function_of(kKernel, FunctionKind::kCompute, 0.6),
                         function_of(kFrame, FunctionKind::kPython, 0.005),
                         function_of(kReduce, FunctionKind::kCollective, 0.2)};
    pattern.functions[0].hardware = {hardware("gpu.sm_active", 0.9, 0.05)};
  }
  return patterns;
}

TEST(EroicaMethod, AlikeRanksAreNormal) { EXPECT_THAT(eroica_method(job(8)), IsEmpty()); }

TEST(EroicaMethod, HostCodeOnTheCriticalPathIsOutOfRange) {
  std::vector<RankPattern> patterns = job(8);
  for (RankPattern& pattern : patterns) pattern.functions[1] = function_of(kFrame, FunctionKind::kPython, 0.05);
  const auto found = eroica_method(patterns);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].function, kFrame);
  EXPECT_EQ(found[0].ranks.size(), 8U);
  EXPECT_NEAR(found[0].out_of_range, 0.04, 1e-9);
  EXPECT_EQ(found[0].differing, 0U);
}

TEST(EroicaMethod, ARankWithAnotherShareDiffersFromAllSampled) {
  std::vector<RankPattern> patterns = job(8);
  patterns[3].functions[2] = function_of(kReduce, FunctionKind::kCollective, 0.05);
  const auto found = eroica_method(patterns);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].function, kReduce);
  EXPECT_THAT(found[0].ranks, ElementsAre(3));
  EXPECT_EQ(found[0].differing, 7U);
  EXPECT_EQ(found[0].sampled, 8U);
}

TEST(EroicaMethod, HardwareTellsRanksOfEqualShareApart) {
  std::vector<RankPattern> patterns = job(8);
  patterns[5].functions[0].hardware = {hardware("gpu.sm_active", 0.4, 0.05)};
  const auto found = eroica_method(patterns);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].function, kKernel);
  EXPECT_THAT(found[0].ranks, ElementsAre(5));
}

TEST(EroicaMethod, DistancesBelowTheBoundAreNone) {
  std::vector<RankPattern> patterns = job(8);
  patterns[3].functions[0] = function_of(kKernel, FunctionKind::kCompute, 0.6 * 0.65);  // 0.35 of the largest away
  patterns[3].functions[0].hardware = {hardware("gpu.sm_active", 0.9, 0.05)};
  EXPECT_THAT(eroica_method(patterns), IsEmpty());
}

TEST(EroicaMethod, ManyRanksAreSampledAndTheOrderDoesNotMatter) {
  std::vector<RankPattern> patterns = job(300);
  patterns[150].functions[2] = function_of(kReduce, FunctionKind::kCollective, 0.05);
  const auto found = eroica_method(patterns);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].ranks, ElementsAre(150));
  EXPECT_EQ(found[0].sampled, 100U);
  std::ranges::reverse(patterns);
  EXPECT_EQ(eroica_method(patterns), found);
}

TEST(EroicaMethod, NothingIsNothing) {
  EXPECT_THAT(eroica_method({}), IsEmpty());
  EXPECT_THAT(eroica_method(std::vector<RankPattern>(1)), IsEmpty());
}

TEST(NaiveMethods, LargestTotalTakesTheRankWithTheLargest) {
  std::vector<RankPattern> patterns = job(4);
  patterns[2].functions[2] = function_of(kReduce, FunctionKind::kCollective, 0.7);
  const auto found = largest_total(patterns);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 2);
  EXPECT_EQ(found->function, kReduce);
  EXPECT_NEAR(found->value, 0.7, 1e-9);
  EXPECT_NEAR(found->peers_median, 0.6, 1e-9);
  EXPECT_EQ(largest_total(job(4))->rank, 0);  // it always claims
  EXPECT_FALSE(largest_total({}).has_value());
}

TEST(NaiveMethods, LongestCollectiveIsByTheMean) {
  std::vector<RankPattern> patterns = job(4);
  patterns[0].functions[2] = function_of(kReduce, FunctionKind::kCollective, 0.4, 40);
  patterns[3].functions[2] = function_of(kReduce, FunctionKind::kCollective, 0.3, 10);
  const auto found = longest_collective(patterns);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 3);
  EXPECT_NEAR(found->value, 30, 1e-9);
  EXPECT_NEAR(found->peers_median, 20, 1e-9);
  for (RankPattern& pattern : patterns) pattern.functions.pop_back();
  EXPECT_FALSE(longest_collective(patterns).has_value());
}

}  // namespace
}  // namespace eroica
