#include "diagnose/baseline_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/facts.h"
#include "diagnose/sample_job.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string misfit(const std::vector<RankPattern>& now, const std::vector<RankPattern>& then) {
  const NameTable names = sample_names();
  return misfit_of_baseline(build_job(now, names), build_job(then, names));
}

TEST(BaselineFit, OfTheSameJob) {
  EXPECT_THAT(misfit(even_job(true), even_job(true)), IsEmpty());
  EXPECT_THAT(misfit(hot_job(true, true), even_job(true)), IsEmpty());
}

TEST(BaselineFit, OtherAccelerators) {
  std::vector<RankPattern> then = even_job(true);
  for (RankPattern& pattern : then) pattern.device = "NVIDIA H100";
  EXPECT_THAT(misfit(even_job(true), then), HasSubstr("H100"));
  EXPECT_THAT(misfit(even_job(true), even_job(false)), HasSubstr("accelerators"));
}

TEST(BaselineFit, AnotherNumberOfRanks) {
  std::vector<RankPattern> then = even_job(true);
  for (RankPattern& pattern : then) pattern.world_size = 8;
  EXPECT_THAT(misfit(even_job(true), then), HasSubstr("8 ranks"));
  for (RankPattern& pattern : then) pattern.world_size = -1;
  EXPECT_THAT(misfit(even_job(true), then), IsEmpty());
}

TEST(BaselineFit, AnotherLayout) {
  std::vector<RankPattern> then = even_job(true);
  for (RankPattern& pattern : then) {
    const int32_t first = pattern.rank < 2 ? 0 : 2;
    pattern.groups = {{std::to_string(first), "tp", {first, first + 1}, 2}};
  }
  EXPECT_THAT(misfit(even_job(true), then), HasSubstr("layout"));
}

TEST(BaselineFit, AnotherProgram) {
  std::vector<RankPattern> then = even_job(true);
  for (RankPattern& pattern : then) {
    for (FunctionPattern& function : pattern.functions) {
      if (function.kind == FunctionKind::kCompute) function.name = 77;
    }
  }
  EXPECT_THAT(misfit(even_job(true), then), HasSubstr("program"));
}

TEST(BaselineFit, AMisfitIsToldAndNotUsed) {
  std::vector<RankPattern> then = even_job(true);
  for (RankPattern& pattern : then) pattern.world_size = 8;
  const Conclusion conclusion = conclude_with(slow_function_job(), then);
  EXPECT_THAT(conclusion.notes, Contains(HasSubstr("baseline")));
  EXPECT_THAT(conclude_with(slow_function_job(), even_job(false)).notes, IsEmpty());
}

std::vector<RankPattern> with_python(int64_t python_ms) {
  std::vector<RankPattern> patterns;
  for (int32_t rank = 0; rank < 4; ++rank) patterns.push_back(sample_rank(rank, 60, python_ms, true));
  return patterns;
}

double observed_of(const std::string& fact, const std::vector<RankPattern>& now, const std::vector<RankPattern>& then) {
  const NameTable names = sample_names();
  const Job job = build_job(now, names);
  const Job before = build_job(then, names);
  const Comparison comparison(job, names);
  const Comparison baseline(before, names);
  Facts facts(comparison, &baseline);
  EvidenceRule evidence;
  evidence.fact = fact;
  const auto seen = facts.observe(evidence, Candidate(nullptr, Subject({0, 1, 2, 3}, 4)));
  return seen ? seen->value : -1;
}

TEST(BaselineFacts, WhatTheHostsOwnWorkTakes) {
  EXPECT_NEAR(observed_of("baseline.host_ratio", with_python(6), with_python(4)), 1.5, 0.01);
  EXPECT_NEAR(observed_of("baseline.host_ratio", with_python(4), with_python(4)), 1, 0.01);
}

// Kernels of a collective that the earlier window did not use are no new names for one that it did.
TEST(BaselineFacts, OnlyCollectivesThatBothUseCanBeRenamed) {
  std::vector<RankPattern> then = even_job(true);
  for (RankPattern& pattern : then) pattern.functions[1].name = 99;
  EXPECT_NEAR(observed_of("baseline.collective_renamed_share", even_job(true), then), 1, 0.01);
  for (RankPattern& pattern : then) pattern.collectives.front().kind = "all_gather";
  EXPECT_NEAR(observed_of("baseline.collective_renamed_share", even_job(true), then), 0, 0.01);
}

}  // namespace
}  // namespace eroica
