#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "steps/script.h"
#include "steps/step_finder.h"

namespace eroica {
namespace {

using testing::kMs;
using testing::repeated;
using testing::script;
using testing::Script;
using testing::steps_of;
using testing::text_of;

std::string found(std::string_view text) {
  const Script made = script(text);
  return text_of(steps_of(made).steps, made);
}

TEST(FindSteps, EachStepEndsWithItsOptimizer) {
  const Script made = script("fAfAfAfAf");
  const Steps steps = steps_of(made);
  EXPECT_EQ(steps.source, StepSource::kSequence);
  EXPECT_EQ(text_of(steps.steps, made), "fA- fA fA fA f-");
  EXPECT_EQ(steps.steps[1].end_ns - steps.steps[1].start_ns, 14 * kMs);
  EXPECT_EQ(steps.steps[1].fetches, 1U);
  EXPECT_EQ(steps.steps[1].optimizer_steps, 1U);
  EXPECT_EQ(steps.note, "5 steps from the optimizer's step after 1 fetch each; 2 cut by the window's edge");
}

TEST(FindSteps, ThreeOptimizerStepsAreTwoWholeSteps) { EXPECT_EQ(found("AfAfA"), "A- fA fA"); }

TEST(FindSteps, TwoOptimizerStepsAreOneWholeStep) { EXPECT_EQ(found("ffAffffAfff"), "ffA- ffffA fff-"); }

TEST(FindSteps, GradientAccumulation) {
  const Script made = script("ffAffffAffffAffffAff");
  const Steps steps = steps_of(made);
  EXPECT_EQ(text_of(steps.steps, made), "ffA- ffffA ffffA ffffA ff-");
  EXPECT_EQ(steps.note, "5 steps from the optimizer's step after 4 fetches each; 2 cut by the window's edge");
}

TEST(FindSteps, VaryingFetches) { EXPECT_EQ(found("ffAfffAffffAffAfffffAffffA"), "ffA- fffA ffffA ffA fffffA ffffA"); }

TEST(FindSteps, TheGeneratorNotTheDiscriminator) {
  EXPECT_EQ(found("fDfDfDGfDfDfDfDfDGfDfDfDfDfDGfDfD"), "fDfDfDG- fDfDfDfDfDG fDfDfDfDfDG fDfD-");
}

TEST(FindSteps, OfSeveralOptimizersTheLastOfTheCycle) {
  EXPECT_EQ(found("fABfABfABfA"), "fAB- fAB fAB fA-");
  EXPECT_EQ(found("BfABfABfABf"), "B- fAB fAB fAB f-");
  EXPECT_EQ(found("fBAfBAfBAfB"), "fBA- fBA fBA fB-");
  EXPECT_EQ(found("..AB..AB..AB..A"), "AB- AB AB A-");
}

TEST(FindSteps, AlternatingModelsAreCutAlikeWhereverTheWindowBegins) {
  EXPECT_EQ(found("fAfBfAfBfAfB"), "fAfB- fAfB fAfB");
  EXPECT_EQ(found("fBfAfBfAfBfA"), "fB- fAfB fAfB fA-");
}

TEST(FindSteps, TwoOptimizersOfOneClass) { EXPECT_EQ(found("fAAfAAfAAfAAf"), "fAA- fAA fAA fAA f-"); }

TEST(FindSteps, ManyOptimizerStepsOnOneRollout) { EXPECT_EQ(found("AAfAAAAfAAAAfAAAA"), "AA- fAAAA fAAAA fAAAA"); }

TEST(FindSteps, ARareSideOptimizerIsNoStep) {
  const std::string cycle = repeated("fA", 40) + "Z";
  const Script made = script(repeated(cycle, 4));
  EXPECT_EQ(steps_of(made).steps.size(), 160U + 1);
}

TEST(FindSteps, EvaluationWithAnotherLoaderIsAStepOfItsOwn) {
  EXPECT_EQ(found("fAfAfAvvvvvfAfAfA"), "fA- fA fA vvvvv~ fA fA fA");
}

TEST(FindSteps, EvaluationWithTheSameLoaderIsAStepOfItsOwn) {
  EXPECT_EQ(found("fAfAfAeeeeeeefAfAfA"), "fA- fA fA eeeeeee~ fA fA fA");
  EXPECT_EQ(found("ffAffAffAeeeeeeeffAffAffA"), "ffA- ffA ffA eeeeeee~ ffA ffA ffA");
}

TEST(FindSteps, EvaluationDoesNotLengthenTheNextStep) {
  const Script made = script("fAfAfAvvvvvfAfAfA");
  const std::vector<Step> steps = steps_of(made).steps;
  EXPECT_EQ(steps[3].end_ns - steps[3].start_ns, 20 * kMs);
  EXPECT_EQ(steps[4].end_ns - steps[4].start_ns, 14 * kMs);
}

TEST(FindSteps, EvaluationAtTheWindowsEdges) { EXPECT_EQ(found("vvvvvfAfAfAfAvvvv"), "vvvvv-~ fA fA fA fA vvvv-~"); }

TEST(FindSteps, EvaluationOfAJobWhoseTrainingDoesNotFetch) {
  EXPECT_EQ(found(".A.A.A.vvvvvv.A.A.A"), "A- A A vvvvvv~ A A A");
}

TEST(FindSteps, TheFetchThatEndsAnEpochIsNoEvaluation) { EXPECT_EQ(found("fAfAfAefAfAfA"), "fA- fA fA efA fA fA"); }

TEST(FindSteps, SkippedOptimizerStepsAreSplitAtTheFetches) {
  EXPECT_EQ(found("fAfAfAffAfAfA"), "fA- fA fA f~ fA~ fA fA");
  EXPECT_EQ(found("ffAffAffAffffffAffA"), "ffA- ffA ffA ff~ ff~ ffA~ ffA");
}

TEST(FindSteps, ACheckpointMakesItsStepLonger) {
  const Script made = script("fAfAf_AfAfA");
  const std::vector<Step> steps = steps_of(made).steps;
  EXPECT_EQ(text_of(steps, made), "fA- fA fA fA fA");
  EXPECT_EQ(steps[2].end_ns - steps[2].start_ns, 1014 * kMs);
  EXPECT_FALSE(steps[2].irregular);
}

TEST(FindSteps, OptimizersOnly) { EXPECT_EQ(found("..A..A..A..A.."), "A- A A A -"); }

TEST(FindSteps, FetchesOnly) {
  const Script made = script("fffff");
  const Steps steps = steps_of(made);
  EXPECT_EQ(text_of(steps.steps, made), "f f f f f-");
  EXPECT_EQ(steps.note, "5 steps, one from each fetch: no optimizer step was recorded; 1 cut by the window's edge");
}

TEST(FindSteps, FetchesOfTwoLoadersOnly) {
  EXPECT_EQ(found("..vf..vf..vf..vf.."), "- vf vf vf vf-");
  EXPECT_EQ(found("fffffvvvvvvfffff"), "f f f f f vvvvvv~ f f f f f-");
}

TEST(FindSteps, APatternThatChanges) {
  const Script made = script(repeated("fA", 20) + repeated("gB", 20));
  const Steps steps = steps_of(made);
  EXPECT_EQ(steps.steps.size(), 40U);
  EXPECT_THAT(steps.note, ::testing::HasSubstr("the pattern changed 1 time"));
  for (size_t i = 1; i < 40; ++i) {
    EXPECT_EQ(steps.steps[i].optimizer_steps, 1U) << i;
  }
}

TEST(FindSteps, AWarmUpOfTheDiscriminatorAlone) {
  const Script made = script(repeated("fD", 40) + repeated("fDfDG", 30));
  const std::string text = text_of(steps_of(made).steps, made);
  EXPECT_THAT(text, ::testing::StartsWith("fD- fD fD"));
  EXPECT_THAT(text, ::testing::EndsWith("fDfDG fDfDG fDfDG fDfDG"));
}

TEST(FindSteps, MoreAccumulationFromSomewhereOn) {
  const std::string text = found(repeated("fA", 10) + repeated("ffffA", 10));
  EXPECT_THAT(text, ::testing::StartsWith("fA- fA fA fA fA fA fA fA fA fA "));
  EXPECT_THAT(text, ::testing::EndsWith(" ffffA ffffA ffffA ffffA ffffA ffffA"));
}

TEST(FindSteps, NothingRepeats) {
  for (const char* text : {"", "...", "fA", "ffffA", "AB", "fABf"}) {
    const Script made = script(std::string(".") + text);
    const Steps steps = steps_of(made);
    EXPECT_EQ(steps.source, StepSource::kWindow) << text;
    ASSERT_EQ(steps.steps.size(), 1U) << text;
    EXPECT_EQ(steps.steps[0].start_ns, 0);
    EXPECT_EQ(steps.steps[0].end_ns, made.end_ns);
    EXPECT_TRUE(steps.steps[0].complete);
    EXPECT_THAT(steps.note, ::testing::StartsWith("nothing repeats: the whole window is taken as one step"));
  }
}

TEST(FindSteps, AnEmptyWindowHasNoSteps) {
  const Script made = script("fAfAfA");
  EXPECT_TRUE(find_steps(made.marks, false, {.window_start_ns = 5, .window_end_ns = 5}).steps.empty());
}

TEST(FindSteps, StepsAreClippedToTheWindow) {
  const Script made = script("fAfAfAfAfA");  // steps of 14 ms
  const Steps steps = find_steps(made.marks, false, {.window_start_ns = 20 * kMs, .window_end_ns = 50 * kMs});
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].start_ns, 20 * kMs);
  EXPECT_FALSE(steps.steps[0].complete);
  EXPECT_TRUE(steps.steps[1].complete);
  EXPECT_EQ(steps.steps[2].end_ns, 50 * kMs);
  EXPECT_FALSE(steps.steps[2].complete);
  EXPECT_EQ(steps.steps[2].number, 2);
  EXPECT_EQ(steps.steps[2].optimizer_steps, 0U);
}

TEST(FindSteps, ALastStepThatLosesNextToNothingIsWhole) {
  const Script made = script("fAfAfA");
  const Steps steps = find_steps(made.marks, false, {.window_end_ns = made.end_ns - kMs / 5});
  EXPECT_TRUE(steps.steps.back().complete);
  EXPECT_EQ(steps.steps.back().end_ns, made.end_ns - kMs / 5);
}

Mark step_mark(int64_t number, int64_t start_ms, int64_t end_ms, uint64_t name_hash = 1) {
  return {MarkKind::kStep, name_hash, start_ms * kMs, end_ms * kMs, number};
}

TEST(FindSteps, ExplicitStepsAreUsedAsTheyAre) {
  Script made = script("fAfAfAfA");  // would be steps of 14 ms
  made.marks.push_back(step_mark(7, 10, 30));
  made.marks.push_back(step_mark(8, 29, 50));  // overlaps by rounding
  const Steps steps = steps_of(made);
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.steps[0].number, 7);
  EXPECT_EQ(steps.steps[0].start_ns, 10 * kMs);
  EXPECT_EQ(steps.steps[0].end_ns, 30 * kMs);
  EXPECT_EQ(steps.steps[1].number, 8);
  EXPECT_EQ(steps.steps[1].start_ns, 30 * kMs);
  EXPECT_EQ(steps.steps[1].end_ns, 50 * kMs);
  EXPECT_EQ(steps.steps[0].fetches + steps.steps[1].fetches, 3U);
  EXPECT_EQ(steps.note, "2 steps from ProfilerStep");
}

TEST(FindSteps, OneExplicitStepIsEnough) {
  const std::vector<Mark> marks{step_mark(3, 10, 90)};
  const Steps steps = find_steps(marks, false, {.window_end_ns = 100 * kMs});
  ASSERT_EQ(steps.steps.size(), 1U);
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  EXPECT_TRUE(steps.steps[0].complete);
  EXPECT_EQ(steps.steps[0].number, 3);
}

TEST(FindSteps, AMarkerThatMatchesLoopAndStepsMeansTheSteps) {
  const std::vector<Mark> marks{step_mark(-1, 0, 100, 1), step_mark(-1, 0, 30, 2), step_mark(-1, 10, 20, 2),
                                step_mark(-1, 30, 60, 2), step_mark(-1, 60, 95, 2)};
  const Steps steps = find_steps(marks, true, {.window_end_ns = 100 * kMs});
  EXPECT_EQ(steps.source, StepSource::kMarker);
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].end_ns, 30 * kMs);
  EXPECT_EQ(steps.steps[2].number, 2);
}

TEST(FindSteps, ExplicitStepsOutsideTheWindowDoNotCount) {
  Script made = script("fAfAfAfA");
  made.marks.push_back(step_mark(7, 1000, 1100));
  EXPECT_EQ(steps_of(made).source, StepSource::kSequence);
}

TEST(FindSteps, NamesStandInTheNote) {
  const Script made = script("fAfAfA");
  const MarkNames names{{'A', "Optimizer.step#SGD.step"}};
  const Steps steps = find_steps(made.marks, false, {.window_end_ns = made.end_ns, .names = &names});
  EXPECT_EQ(steps.note, "3 steps from Optimizer.step#SGD.step after 1 fetch each; 1 cut by the window's edge");
}

}  // namespace
}  // namespace eroica
