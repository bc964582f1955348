#include "report/step_basis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

constexpr int64_t kMs = 1'000'000;

RankPattern with_steps(int32_t rank, int64_t first, const std::vector<int64_t>& durations_ms) {
  RankPattern pattern;
  pattern.rank = rank;
  pattern.step_source = StepSource::kProfilerStep;
  pattern.steps_numbered = true;
  int64_t at_ns = 0;
  for (const int64_t ms : durations_ms) {
    StepPattern step;
    step.number = first++;
    step.start_ns = at_ns;
    step.duration_ns = ms * kMs;
    at_ns += step.duration_ns;
    pattern.steps.push_back(step);
  }
  pattern.window_ns = at_ns;
  return pattern;
}

std::vector<RankView> views(const std::vector<RankPattern>& patterns) {
  std::vector<RankView> all;
  for (const RankPattern& pattern : patterns) all.push_back({&pattern, step_basis(pattern)});
  return all;
}

TEST(MakeComparable, MeansAreOverTheStepsThatAllRanksHave) {
  const std::vector<RankPattern> patterns = {with_steps(0, 10, {10, 20, 30}), with_steps(1, 11, {20, 30, 100})};
  std::vector<RankView> ranks = views(patterns);
  std::vector<std::string> notes;
  make_comparable(ranks, notes);
  EXPECT_THAT(ranks[0].basis.counted, testing::ElementsAre(1, 2));
  EXPECT_THAT(ranks[1].basis.counted, testing::ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(ranks[0].basis.step_ns, 25.0 * kMs);
  EXPECT_DOUBLE_EQ(ranks[1].basis.step_ns, 25.0 * kMs);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("the 2 steps that all ranks have")));
}

TEST(MakeComparable, FewCommonStepsAreToldAndLeftAlone) {
  const std::vector<RankPattern> patterns = {with_steps(0, 0, {10, 20, 30, 40, 50}), with_steps(1, 4, {50, 60, 70})};
  std::vector<RankView> ranks = views(patterns);
  std::vector<std::string> notes;
  make_comparable(ranks, notes);
  EXPECT_EQ(ranks[0].basis.counted.size(), 5U);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("few steps in common")));
}

TEST(MakeComparable, EqualStepsNeedNoWord) {
  const std::vector<RankPattern> patterns = {with_steps(0, 3, {10, 20}), with_steps(1, 3, {10, 20})};
  std::vector<RankView> ranks = views(patterns);
  std::vector<std::string> notes;
  make_comparable(ranks, notes);
  EXPECT_TRUE(notes.empty());
}

TEST(MakeComparable, ARankWithoutStepsIsScaledToTheOthersStep) {
  std::vector<RankPattern> patterns = {with_steps(0, 0, {10, 10}), RankPattern()};
  patterns[1].rank = 1;
  patterns[1].window_ns = 40 * kMs;
  std::vector<RankView> ranks = views(patterns);
  std::vector<std::string> notes;
  make_comparable(ranks, notes);
  EXPECT_TRUE(ranks[1].basis.scaled_window);
  EXPECT_DOUBLE_EQ(ranks[1].basis.per_step_ms(20 * kMs), 5.0);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("rank 1: no steps were found")));
}

TEST(WindowToStep, FollowsWhereTheCriticalTimeLies) {
  RankPattern pattern = with_steps(0, 0, {10, 10, 10});
  pattern.steps[0].complete = false;
  const StepBasis basis = step_basis(pattern);
  const std::vector<uint32_t> even = {5000, 5000, 5000};
  EXPECT_NEAR(3 * window_to_step(basis, even, 15 * kMs), 1.0, 1e-9) << "three executions, one a step";
  const std::vector<uint32_t> only_in_the_cut_step = {5000, 0, 0};
  EXPECT_EQ(window_to_step(basis, only_in_the_cut_step, 5 * kMs), 0.0);
  EXPECT_DOUBLE_EQ(window_to_step(basis, {}, 0), basis.scale) << "nothing known: spread evenly";
}

// Three steps end when they are launched, the fourth waits for all of them.
TEST(StepBasis, OfAHostThatRunsAheadOnlyTheMeanIsTrue) {
  RankPattern pattern = with_steps(0, 0, {10, 10, 10, 370});
  pattern.gpu_job = true;
  for (StepPattern& step : pattern.steps) {
    step.complete = true;
    step.launched_ns = 90 * kMs;
  }
  EXPECT_TRUE(step_basis(pattern).ahead);
  EXPECT_DOUBLE_EQ(step_basis(pattern).step_ns, 100.0 * kMs);
  for (StepPattern& step : pattern.steps) step.launched_ns = 8 * kMs;
  EXPECT_FALSE(step_basis(pattern).ahead);
}

}  // namespace
}  // namespace eroica
