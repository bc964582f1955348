#include "compare/program_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace eroica {
namespace {

using testing::ElementsAre;

Program program(const std::vector<std::pair<uint32_t, float>>& parts, bool telling = true) {
  Program result;
  for (const auto& [function, calls] : parts) result.parts.push_back({function, calls, telling});
  return result;
}

TEST(ProgramDifference, CountsWhatOneRunsAloneAndWhatItRunsMoreOften) {
  const ProgramDifference found = difference(program({{0, 8}, {1, 8}, {2, 4}}), program({{1, 8}, {2, 6}, {3, 1}}));
  EXPECT_NEAR(found.functions, 2.0 / 4, 1e-9);
  EXPECT_NEAR(found.calls, 3.0 / 4, 1e-9);
  EXPECT_FALSE(is_same_part(found));
}

TEST(ProgramDifference, WhatIsHardlySeenAndPartsOfAStepAreNone) {
  EXPECT_TRUE(is_same_part(difference(program({{0, 8}, {1, 100}}), program({{0, 8.5F}, {1, 104}}))));
  Program more = program({{0, 8}, {1, 2}});
  more.parts[1].telling = false;
  EXPECT_TRUE(is_same_part(difference(program({{0, 8}}), more)));
}

TEST(ProgramDifference, OneLayerMoreIsAnotherPartOfTheSameProgram) {
  const ProgramDifference found = difference(program({{0, 28}, {1, 7}}), program({{0, 32}, {1, 8}}));
  EXPECT_FALSE(is_same_part(found));
  EXPECT_FALSE(is_other_program(found));
}

TEST(ProgramDifference, OfNothingNothingIsSaid) { EXPECT_TRUE(is_same_part(difference(Program(), program({{0, 8}})))); }

TEST(ProgramDifference, ClustersAreInTheOrderOfTheirFirst) {
  const std::vector<Program> programs{program({{0, 1}}), program({{1, 1}}), program({{0, 1}}), program({{1, 1}})};
  EXPECT_THAT(cluster(programs, is_same_part), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST(ProgramDifference, OnlyComputeOfARankCounts) {
  Job job = bare_job(1);
  add_use(job, 0, {.function = add_function(job, FunctionKind::kPython), .exposed = 0.5F, .calls = 3});
  add_use(job, 0, {.function = add_function(job, FunctionKind::kCompute), .exposed = 0.5F, .calls = 3});
  const Program found = program_of(job, job.ranks[0]);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_EQ(found.parts[0].function, 1U);
  EXPECT_TRUE(found.parts[0].telling);
}

}  // namespace
}  // namespace eroica
