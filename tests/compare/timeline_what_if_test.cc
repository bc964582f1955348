#include "compare/timeline_what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>

#include "timeline_generator.h"
#include "trace/op_timeline.h"

namespace eroica {
namespace {

constexpr double kMs = 1e6;

/// A healthy job: forward 20 ms, backward 40 ms a chunk, transfers 1 ms, with `noise` (deviation) on computations.
GeneratedJob job_of(int32_t dp, int32_t stages, int32_t chunks = 1, double noise = 0.01) {
  GeneratedJob job{.dp = dp, .stages = stages, .chunks = chunks, .micro_batches = 2 * stages, .steps = 6, .own_ns = {}};
  job.gap_ns = 20'000;
  auto random = std::make_shared<std::mt19937>(7);
  job.own_ns = [random, chunks, noise](const GeneratedOp& op) {
    std::normal_distribution<double> normal;
    const auto noisy = [&] { return 1 + noise * normal(*random); };
    double ms = 1;
    if (op.type == OpType::kForwardCompute) ms = 20 * noisy() / chunks;
    if (op.type == OpType::kBackwardCompute) ms = 40 * noisy() / chunks;
    if (op.type == OpType::kParamsSync || op.type == OpType::kGradsSync) ms = 8.0 / chunks;
    if (op.type == OpType::kOther) ms = 5;
    return static_cast<int64_t>(ms * kMs);
  };
  return job;
}

bool is_compute(const GeneratedOp& op) {
  return op.type == OpType::kForwardCompute || op.type == OpType::kBackwardCompute;
}

/// Changes the durations of a job's operations by a factor.
GeneratedJob times(GeneratedJob job, std::function<double(const GeneratedOp&)> factor) {
  job.own_ns = [own = job.own_ns, factor = std::move(factor)](const GeneratedOp& op) {
    return static_cast<int64_t>(static_cast<double>(own(op)) * factor(op));
  };
  return job;
}

TimelineReport report_of(const GeneratedJob& job) { return analyze_timeline(generate(job).timeline); }

struct Shape {
  int32_t dp;
  int32_t stages;
  int32_t chunks;
};

class Jobs : public testing::TestWithParam<Shape> {
 protected:
  [[nodiscard]] static GeneratedJob job() { return job_of(GetParam().dp, GetParam().stages, GetParam().chunks); }
};
INSTANTIATE_TEST_SUITE_P(TimelineWhatIf, Jobs,
                         testing::Values(Shape{2, 4, 1}, Shape{4, 4, 1}, Shape{8, 8, 1}, Shape{16, 8, 1},
                                         Shape{16, 4, 2}, Shape{8, 8, 3}, Shape{32, 2, 1}),
                         [](const auto& shape) {
                           return "dp" + std::to_string(shape.param.dp) + "pp" + std::to_string(shape.param.stages) +
                                  "vp" + std::to_string(shape.param.chunks);
                         });

TEST_P(Jobs, EvenJobIsEven) {
  const TimelineReport report = report_of(job());
  EXPECT_EQ(report.verdict, TimelineVerdict::kEven) << report.findings.front().why;
  EXPECT_GE(report.slowdown_even, 1 - 1e-9);
  EXPECT_LT(report.slowdown_even, 1.05);
  EXPECT_EQ(report.dp, static_cast<size_t>(GetParam().dp));
  EXPECT_EQ(report.stages, static_cast<size_t>(GetParam().stages));
  EXPECT_EQ(report.chunks, static_cast<size_t>(GetParam().chunks));
  EXPECT_EQ(report.micro_batches, static_cast<size_t>(2 * GetParam().stages));
  EXPECT_EQ(report.steps, 6U);
  EXPECT_EQ(report.unmatched, 0U);
  EXPECT_EQ(report.broken_edges, 0U);
  EXPECT_NEAR(report.simulated_step_s / report.measured_step_s, 1, 0.01);
}

TEST_P(Jobs, SlowWorkerIsBlamed) {
  const int32_t stage = GetParam().stages / 2;
  for (const double factor : {1.15, 1.5}) {
    const TimelineReport report = report_of(times(job(), [stage, factor](const GeneratedOp& op) {
      return is_compute(op) && op.dp == 1 && op.stage == stage ? factor : 1;
    }));
    ASSERT_EQ(report.verdict, TimelineVerdict::kSlowWorker) << factor;
    const TimelineFinding& finding = report.findings.front();
    ASSERT_EQ(finding.workers.size(), 1U);
    EXPECT_EQ(report.by_worker[finding.workers[0]].who.dp, 1);
    EXPECT_EQ(report.by_worker[finding.workers[0]].who.stage, stage);
    EXPECT_NEAR(finding.ratio, factor, 0.03);
    EXPECT_GT(report.explained_by_slowest_workers, 0.7);
    EXPECT_THAT(report.slowest_workers, testing::Contains(finding.workers[0]));
  }
}

TEST_P(Jobs, TwoSlowWorkersAreBothBlamed) {
  if (GetParam().dp < 4) GTEST_SKIP() << "too few peers";
  const TimelineReport report = report_of(times(job(), [](const GeneratedOp& op) {
    return is_compute(op) && (op.dp == 1 || op.dp == 3) && op.stage == 0 ? 1.4 : 1;
  }));
  ASSERT_EQ(report.verdict, TimelineVerdict::kSlowWorker);
  EXPECT_EQ(report.findings.front().workers.size(), 2U);
}

TEST_P(Jobs, LongLastStageIsNoWorker) {
  const int32_t last = GetParam().stages - 1;
  const TimelineReport report =
      report_of(times(job(), [last](const GeneratedOp& op) { return is_compute(op) && op.stage == last ? 1.5 : 1; }));
  EXPECT_EQ(report.verdict, TimelineVerdict::kLastStageLong);
  EXPECT_EQ(report.findings.front().stage, last);
  EXPECT_NEAR(report.findings.front().ratio, 1.5, 0.05);
  EXPECT_GT(report.explained_by_last_stage, 0.8);
  for (const TimelineFinding& finding : report.findings) {
    EXPECT_FALSE(finding.claimed && finding.what == TimelineVerdict::kSlowWorker);
  }
}

TEST_P(Jobs, AnotherLongStage) {
  if (GetParam().stages < 4) GTEST_SKIP();
  const TimelineReport report =
      report_of(times(job(), [](const GeneratedOp& op) { return is_compute(op) && op.stage == 1 ? 1.4 : 1; }));
  EXPECT_EQ(report.verdict, TimelineVerdict::kStageLong);
  EXPECT_EQ(report.findings.front().stage, 1);
}

TEST_P(Jobs, SequenceImbalanceIsNobodysFault) {
  std::mt19937 random(3);
  std::map<std::tuple<int32_t, int32_t, int32_t>, double> lengths;
  const TimelineReport report = report_of(times(job(), [&](const GeneratedOp& op) {
    if (!is_compute(op)) return 1.0;
    const auto [found, is_new] = lengths.try_emplace({op.step, op.dp, op.micro_batch}, 1.0);
    if (is_new) found->second = std::lognormal_distribution<double>(0, 0.35)(random);
    return found->second;
  }));
  EXPECT_EQ(report.verdict, TimelineVerdict::kSequenceImbalance);
  EXPECT_GT(report.forward_backward_correlation, 0.9);
}

TEST_P(Jobs, SlowLinkBetweenTwoStages) {
  if (GetParam().stages < 4) GTEST_SKIP() << "has no other link";
  const TimelineReport report = report_of(times(job(), [](const GeneratedOp& op) {
    const bool slow =
        (op.type == OpType::kForwardSend && op.stage == 1) || (op.type == OpType::kBackwardSend && op.stage == 2);
    return slow ? 40 : 1;
  }));
  ASSERT_EQ(report.verdict, TimelineVerdict::kSlowCommunication);
  for (const SlowLink& link : report.findings.front().links) {
    EXPECT_EQ(std::minmax(link.stage, link.peer_stage), std::minmax(1, 2)) << link.name;
    EXPECT_EQ(link.dp, -1);
  }
}

TEST(TimelineWhatIf, LateReceivesAndForeignClocksChangeLittle) {
  GeneratedJob job = job_of(4, 4);
  job.receives_late = true;
  job.clocks_differ = true;
  const TimelineReport report = report_of(job);
  EXPECT_EQ(report.verdict, TimelineVerdict::kEven);
  EXPECT_NEAR(report.simulated_step_s / report.measured_step_s, 1, 0.02);
}

TEST(TimelineWhatIf, EmptyIsEven) {
  EXPECT_EQ(analyze_timeline(OpTimeline()).verdict, TimelineVerdict::kEven);
  EXPECT_EQ(analyze_timeline(OpTimeline()).slowdown_even, 1);
}

RC_GTEST_PROP(TimelineWhatIf, ConstantJobsAreIdealAlready, ()) {
  const auto stages = *rc::gen::inRange(2, 5);
  const TimelineReport report = report_of(job_of(*rc::gen::inRange(1, 4), stages, *rc::gen::inRange(1, 3), 0));
  RC_ASSERT(std::abs(report.slowdown_even - 1) < 1e-6);
  RC_ASSERT(std::abs(report.slowdown - 1) < 1e-6);
  RC_ASSERT(report.verdict == TimelineVerdict::kEven);
}

RC_GTEST_PROP(TimelineWhatIf, AnyRowsAreAnalysed, ()) {
  GeneratedTimeline generated = generate(job_of(2, 3));
  OpTimeline& timeline = generated.timeline;
  const auto changes = *rc::gen::inRange<size_t>(1, 200);
  for (size_t i = 0; i < changes; ++i) {
    const auto row = *rc::gen::inRange<size_t>(0, timeline.size());
    timeline.step[row] = *rc::gen::element(0, 1, 7, -1, INT32_MAX, INT32_MIN);
    timeline.worker[row] = *rc::gen::inRange<uint32_t>(0, static_cast<uint32_t>(timeline.workers.size()));
    timeline.start_ns[row] = *rc::gen::element<int64_t>(INT64_MIN, INT64_MAX, 0, 5);
    timeline.duration_ns[row] = *rc::gen::element<int64_t>(INT64_MAX, 0, 5);
    timeline.chunk[row] = *rc::gen::element(-1, 0, INT32_MIN, INT32_MAX);
    timeline.sequence[row] = *rc::gen::element(-1, 0, 3, INT32_MIN, INT32_MAX);
  }
  const TimelineReport report = analyze_timeline(timeline);
  RC_ASSERT(std::isfinite(report.slowdown_even));
  RC_ASSERT(report.by_worker.size() == timeline.workers.size());
}

class PublicTrace : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(TimelineWhatIf, PublicTrace, testing::Values("trace-ST.csv", "timeline-ST.json.gz"),
                         [](const auto& file) { return std::string(file.index == 0 ? "csv" : "json"); });

TEST_P(PublicTrace, GivesThePublicToolsNumbers) {
  const char* shared = std::getenv("EROICA_SHARED");
  const std::string path = std::string(shared == nullptr ? "" : shared) + "/data/traces/op-timeline-ST/" + GetParam();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data";
  auto file = open_file(path);
  ASSERT_TRUE(file.ok());
  const Result<OpTimeline> timeline = read_op_timeline(std::move(*file), path);
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  const TimelineReport report = analyze_timeline(*timeline);
  EXPECT_EQ(report.workers, 8U);
  EXPECT_EQ(report.steps, 32U);
  EXPECT_EQ(report.unmatched, 0U);
  EXPECT_EQ(report.broken_edges, 0U);
  EXPECT_NEAR(report.simulated_step_s, 2.1727, 0.001);
  EXPECT_NEAR(report.ideal_step_s, 1.8433, 0.001);
  EXPECT_NEAR(report.slowdown_even, 1.179, 0.001);
  EXPECT_NEAR(report.explained_by_slowest_workers, 0.031, 0.001);
  EXPECT_NEAR(report.explained_by_last_stage, 1.219, 0.002);
  EXPECT_EQ(report.verdict, TimelineVerdict::kLastStageLong);
  EXPECT_EQ(report.findings.front().stage, 3);
  EXPECT_FALSE(report.findings[1].claimed) << report.findings[1].why;
}

}  // namespace
}  // namespace eroica
