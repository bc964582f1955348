#include "pattern/edge_numbers.h"

#include <gtest/gtest.h>

#include <vector>

#include "pattern/summarize.h"
#include "support/trace_builder.h"

namespace eroica {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kBase = 1'790'000'000'000'000'000;

/// Steps of 100 ms from 0 on; the first one may be cut.
Steps steps_of(size_t count, int64_t first_end_ms = 100) {
  Steps steps;
  steps.source = StepSource::kSequence;
  for (size_t i = 0; i < count; ++i) {
    const int64_t end_ms = first_end_ms + static_cast<int64_t>(i) * 100;
    steps.steps.push_back({static_cast<int64_t>(i), i == 0 ? 0 : (end_ms - 100) * kMs, end_ms * kMs});
  }
  return steps;
}

WindowEdge edge(int64_t at_ms, int64_t step, int64_t step_ms, int64_t enqueued = -1, int64_t completed = -1) {
  return {kBase + at_ms * kMs, step, kBase + step_ms * kMs, {{"0", enqueued, completed}}};
}

TEST(EdgeNumbers, StepsAreNumberedAsTheJobDoes) {
  Steps steps = steps_of(5, 60);
  ASSERT_TRUE(number_steps({edge(1, 294, -40), edge(431, 298, 359)}, kBase, steps));
  EXPECT_EQ(steps.steps.front().number, 295);
  EXPECT_EQ(steps.steps.back().number, 299) << "cut by the window's end";
}

TEST(EdgeNumbers, AStepThatEndsBeforeTheEdgeIsReadIsNotMissed) {
  Steps steps = steps_of(5, 2);
  ASSERT_TRUE(number_steps({edge(5, 11, 2), edge(401, 14, 302)}, kBase, steps));
  EXPECT_EQ(steps.steps.front().number, 11);
}

TEST(EdgeNumbers, StepsThatTheProbeCountsOtherwiseStayAsTheyAre) {
  for (const WindowEdges& edges :
       {WindowEdges{edge(1, 294, -40), edge(431, 306, 359)},  // three calls of the optimizer in each step
        WindowEdges{edge(1, 294, -40), edge(431, 298, 310)},  // no step ended then
        WindowEdges{edge(1, 294, -40), std::nullopt}, WindowEdges{std::nullopt, edge(431, 298, 359)},
        WindowEdges{edge(1, 0, INT64_MIN / kMs), edge(431, 0, INT64_MIN / kMs)},
        WindowEdges{edge(1, INT64_MAX, -40), edge(431, INT64_MAX, 359)}}) {
    Steps steps = steps_of(5, 60);
    EXPECT_FALSE(number_steps(edges, kBase, steps));
    EXPECT_EQ(steps.steps.front().number, 0);
  }
  Steps marked = steps_of(5, 60);
  marked.source = StepSource::kMarker;
  EXPECT_FALSE(number_steps({edge(1, 294, -40), edge(431, 298, 359)}, kBase, marked));
}

/// Runs that end at these times, and were called `ahead_ms` before.
std::vector<CountedRun> runs_at(const std::vector<int64_t>& ends_ms, int64_t ahead_ms = 0) {
  std::vector<CountedRun> runs;
  for (const int64_t end : ends_ms) runs.push_back({kBase + (end - ahead_ms) * kMs, kBase + end * kMs});
  return runs;
}

std::optional<int64_t> first_on_host(const std::vector<int64_t>& ends_ms, const WindowEdge& start,
                                     const WindowEdge& end) {
  return first_sequence(runs_at(ends_ms), false, {start, end}, "0", kBase + 100 * kMs);
}

TEST(EdgeNumbers, CollectivesAreCountedBackFromTheLastOneCompleted) {
  const std::vector<int64_t> ends = {15, 35, 55, 75, 95};
  EXPECT_EQ(first_on_host(ends, edge(1, 0, 0, 308, 308), edge(101, 0, 0, 313, 313)), 309);
  EXPECT_EQ(first_on_host(ends, edge(1, 0, 0, 309, 308), edge(100, 0, 0, 314, 314)), 310)
      << "one ran when the profiler started";
  EXPECT_EQ(first_on_host(ends, edge(20, 0, 0, 309, 309), edge(101, 0, 0, 313, 313)), 309)
      << "the edge was read after the first had ended";
  EXPECT_EQ(first_on_host(ends, edge(1, 0, 0, 308, 308), edge(125, 0, 0, 314, 314)), 309)
      << "one more ended before the edge was read, behind the window";
  EXPECT_EQ(first_on_host({15, 55, 35, 95, 75}, edge(1, 0, 0, 308, 308), edge(101, 0, 0, 313, 312)), 309)
      << "two threads: the fourth ended last";
}

TEST(EdgeNumbers, NoNumberWhereTheEdgesLeaveADoubt) {
  const std::vector<int64_t> ends = {15, 35, 55, 75, 95};
  EXPECT_FALSE(first_on_host(ends, edge(1, 0, 0, 308, 308), edge(101, 0, 0, 315, 315))) << "more than the trace has";
  EXPECT_FALSE(first_on_host(ends, edge(1, 0, 0, 308, 308), edge(101, 0, 0, 311, 311))) << "fewer";
  EXPECT_FALSE(first_on_host(ends, edge(1, 0, 0, -1, -1), edge(101, 0, 0, INT64_MAX, INT64_MAX)));
  EXPECT_FALSE(first_on_host({}, edge(1, 0, 0, 308, 308), edge(101, 0, 0, 313, 313)));
  EXPECT_FALSE(first_on_host({150}, edge(1, 0, 0, 308, 308), edge(101, 0, 0, 308, 308))) << "none ended";
  EXPECT_FALSE(first_sequence(runs_at(ends), false, {edge(1, 0, 0, 308, 308), edge(101, 0, 0, 313, 313)}, "other",
                              kBase + 100 * kMs));
  EXPECT_FALSE(first_sequence(runs_at(ends), false, {edge(1, 0, 0, 308, 308), std::nullopt}, "0", kBase + 100 * kMs));
}

TEST(EdgeNumbers, OnADeviceThoseThatWereCalledAreCounted) {
  // The host is 30 ms ahead: the first two were called for before the window; what was completed is noticed late.
  const std::vector<CountedRun> runs = runs_at({15, 35, 55, 75, 95}, 36);
  const auto first = [&](int64_t enqueued_at_start, int64_t enqueued, int64_t completed) {
    return first_sequence(
        runs, true, {edge(1, 0, 0, enqueued_at_start, enqueued_at_start - 3), edge(101, 0, 0, enqueued, completed)},
        "0", kBase + 100 * kMs);
  };
  EXPECT_EQ(first(42, 47, 43), 41);
  EXPECT_FALSE(first(42, 44, 43)) << "fewer than were called";
  EXPECT_FALSE(first(42, 50, 48)) << "more were completed than the trace has";
}

TEST(EdgeNumbers, ATraceWithoutNumbersGetsThoseOfTheFlightRecorder) {
  TraceBuilder b;
  b.trace.base_unix_ns = kBase;
  for (const int64_t start_us : {0, 40'000, 80'000}) {
    b.host(Category::kAnnotation, "Optimizer.step#SGD.step", start_us + 30'000, 2'000);
    b.host(Category::kAnnotation, "gloo:all_reduce", start_us + 10'000, 5'000, "201");
  }
  b.trace.sort();
  SummarizeInput input;
  input.rank.rank = 0;
  input.window = WindowSpec{kBase, 120 * kMs};
  input.groups = {{"0", "default_pg", {0, 1}, 2}};
  input.rank.edges = {edge(0, 6, -9, 19, 19), edge(120, 9, 112, 22, 22)};
  NameTable names;
  const RankPattern pattern = summarize(b.trace, input, names);
  EXPECT_TRUE(pattern.steps_numbered);
  ASSERT_GE(pattern.steps.size(), 3U);
  EXPECT_EQ(pattern.steps[0].number, 7);
  ASSERT_EQ(pattern.instances.size(), 3U);
  EXPECT_EQ(pattern.instances[0].sequence, 20);
  EXPECT_EQ(pattern.instances[2].sequence, 22);
  input.rank.edges = {};
  const RankPattern without = summarize(b.trace, input, names);
  EXPECT_FALSE(without.steps_numbered);
  EXPECT_EQ(without.instances[0].sequence, -1);
}

}  // namespace
}  // namespace eroica
