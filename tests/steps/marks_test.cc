#include "steps/marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/trace_builder.h"

namespace eroica {
namespace {

constexpr const char* kFetch = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
constexpr const char* kFetchFrame = "torch/utils/data/dataloader.py(720): __next__";
constexpr const char* kSgd = "Optimizer.step#SGD.step";

/// The marks as text: kind, start in µs, number where there is one.
std::vector<std::string> texts(const Marks& marks) {
  std::vector<std::string> result;
  for (const Mark& mark : marks.marks) {
    std::string text = mark.kind == MarkKind::kStep ? "step" : mark.kind == MarkKind::kFetch ? "fetch" : "optimizer";
    text += "@" + std::to_string(mark.start_ns / 1000);
    if (mark.number >= 0) text += "#" + std::to_string(mark.number);
    result.push_back(text);
  }
  return result;
}

std::vector<std::string> marks_of(TraceBuilder& builder, const std::string& step_marker = "") {
  builder.trace.sort();
  return texts(extract_marks(builder.trace, step_marker));
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ExtractMarks, AnnotationsOfTheTrainingLoop) {
  TraceBuilder builder;
  builder.host(Category::kAnnotation, "ProfilerStep#12", 0, 100);
  builder.host(Category::kAnnotation, kFetch, 10, 5);
  builder.host(Category::kAnnotation, "Optimizer.zero_grad#SGD.zero_grad", 20, 5);
  builder.host(Category::kAnnotation, kSgd, 80, 10);
  builder.host(Category::kOperator, "aten::add", 30, 5);
  EXPECT_THAT(marks_of(builder), ElementsAre("step@0#12", "fetch@10", "optimizer@80"));
}

TEST(ExtractMarks, OldTracesHaveThemAsOperators) {
  TraceBuilder builder;
  builder.host(Category::kOperator, "ProfilerStep#5", 0, 100);
  builder.host(Category::kOperator, kFetch, 10, 5);
  builder.host(Category::kOperator, kSgd, 80, 10);
  EXPECT_THAT(marks_of(builder), ElementsAre("step@0#5", "fetch@10", "optimizer@80"));
}

TEST(ExtractMarks, TheDevicesShadowOfAnAnnotationIsNone) {
  TraceBuilder builder;
  builder.add(builder.track("0", "7", true), Category::kGpuAnnotation, "ProfilerStep#12", 0, 100);
  builder.add(builder.track("0", "7", true), Category::kGpuAnnotation, kSgd, 0, 100);
  EXPECT_THAT(marks_of(builder), IsEmpty());
}

TEST(ExtractMarks, AnAnnotationInsideItsFrameCountsOnce) {
  TraceBuilder builder;
  builder.python(kFetchFrame, 10, 20);
  builder.host(Category::kAnnotation, kFetch, 11, 18);
  EXPECT_THAT(marks_of(builder), ElementsAre("fetch@11"));
}

TEST(ExtractMarks, FramesSpeakWhereNoAnnotationDoes) {
  TraceBuilder builder;
  builder.python("/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py(630): __next__", 10, 20);
  builder.python("torch/utils/data/dataloader.py(783): _next_data", 12, 10);
  builder.python("train.py(10): __next__", 40, 10);
  EXPECT_THAT(marks_of(builder), ElementsAre("fetch@10"));
}

TEST(ExtractMarks, ALoaderInsideALoaderCountsOnce) {
  TraceBuilder builder;
  builder.host(Category::kAnnotation, kFetch, 10, 20);
  builder.host(Category::kAnnotation, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 12, 10);
  builder.host(Category::kAnnotation, kFetch, 30, 20);
  EXPECT_THAT(marks_of(builder), ElementsAre("fetch@10", "fetch@30"));
}

TEST(ExtractMarks, AnOptimizerInsideOneOfItsNameCountsOnceAndOfAnotherNameTwice) {
  TraceBuilder builder;
  builder.host(Category::kAnnotation, kSgd, 10, 20);
  builder.host(Category::kAnnotation, kSgd, 12, 10);
  builder.host(Category::kAnnotation, "Optimizer.step#EMA.step", 13, 5);
  builder.host(Category::kAnnotation, kSgd, 30, 20);
  EXPECT_THAT(marks_of(builder), ElementsAre("optimizer@10", "optimizer@13", "optimizer@30"));
}

TEST(ExtractMarks, AStepMarkerNamesAnAnnotationOrAPythonFunction) {
  TraceBuilder builder;
  builder.python("train.py(70): train_step", 0, 100);
  builder.python("train.py(90): train_step_end", 100, 10);
  builder.host(Category::kAnnotation, "my step", 5, 90);
  builder.host(Category::kAnnotation, "ProfilerStep#1", 1, 95);
  EXPECT_THAT(marks_of(builder, "train_step"), ElementsAre("step@0"));
  EXPECT_THAT(marks_of(builder, "train_step*"), ElementsAre("step@0", "step@100"));
  EXPECT_THAT(marks_of(builder, "train.py(70): train_step"), ElementsAre("step@0"));
  EXPECT_THAT(marks_of(builder, "my step"), ElementsAre("step@5"));
  EXPECT_TRUE(extract_marks(builder.trace, "my step").from_marker);
}

TEST(ExtractMarks, AStepMarkerThatMatchesNothingLeavesTheProfilersSteps) {
  TraceBuilder builder;
  builder.host(Category::kAnnotation, "ProfilerStep#1", 1, 95);
  EXPECT_THAT(marks_of(builder, "no such thing"), ElementsAre("step@1#1"));
  EXPECT_FALSE(extract_marks(builder.trace, "no such thing").from_marker);
}

TEST(ExtractMarks, StepsComeFromOneThread) {
  TraceBuilder builder;
  builder.host(Category::kAnnotation, "work", 0, 100, "1");
  builder.host(Category::kAnnotation, "work", 100, 100, "1");
  builder.host(Category::kAnnotation, "work", 50, 10, "2");
  EXPECT_THAT(marks_of(builder, "work"), ElementsAre("step@0", "step@100"));
}

TEST(ExtractMarks, TheMainTrackHasMostOfTheMarksTime) {
  TraceBuilder builder;
  for (int i = 0; i < 10; ++i) builder.host(Category::kOperator, "aten::add", i * 10, 5, "busy");
  builder.host(Category::kAnnotation, kFetch, 0, 5, "loader");
  builder.host(Category::kAnnotation, kSgd, 10, 50, "main");
  builder.trace.sort();
  const Marks marks = extract_marks(builder.trace, "");
  ASSERT_TRUE(marks.has_main_track);
  EXPECT_EQ(builder.trace.tracks[marks.main_track].tid, "main");
}

TEST(ExtractMarks, WithoutMarksTheMainTrackHasMostEvents) {
  TraceBuilder builder;
  for (int i = 0; i < 9; ++i) builder.kernel("gemm", i * 10, 5);
  builder.host(Category::kOperator, "aten::add", 0, 5, "one");
  for (int i = 0; i < 3; ++i) builder.host(Category::kOperator, "aten::add", i * 10, 5, "three");
  builder.trace.sort();
  const Marks marks = extract_marks(builder.trace, "");
  ASSERT_TRUE(marks.has_main_track);
  EXPECT_EQ(builder.trace.tracks[marks.main_track].tid, "three");
  const Trace empty;
  EXPECT_FALSE(extract_marks(empty, "").has_main_track);
}

TEST(ExtractMarks, TheNoteOfTheirStepsNamesTheOptimizer) {
  TraceBuilder builder;
  for (int i = 0; i < 4; ++i) {
    builder.host(Category::kAnnotation, kFetch, i * 100, 5);
    builder.host(Category::kAnnotation, kSgd, i * 100 + 80, 20);
  }
  builder.trace.sort();
  const Steps steps = find_steps(extract_marks(builder.trace, ""), {.window_end_ns = 400'000});
  EXPECT_EQ(steps.note, "4 steps from Optimizer.step#SGD.step after 1 fetch each; 1 cut by the window's edge");
}

}  // namespace
}  // namespace eroica
