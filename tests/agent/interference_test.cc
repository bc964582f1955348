#include "agent/interference.h"

#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMs;
constexpr int64_t kBegin = 1'700'000'000 * kSecond;

struct Job {
  StepPace pace;
  int64_t now_ns = kBegin;  ///< wall clock
  int64_t step = 0;

  void run_until(int64_t unix_ns, int64_t step_ms, int32_t rank = 0) {
    while (now_ns + step_ms * kMs <= unix_ns) {
      now_ns += step_ms * kMs;
      pace.push({rank, ++step, now_ns, now_ns - kBegin + 7, 0, 0});
    }
  }
};

WindowPlan plan_at(int64_t unix_ns) { return plan_window("w", unix_ns, 3); }

TEST(StepPace, UndisturbedStepsCostNothing) {
  Job job;
  const WindowPlan plan = plan_at(kBegin + 30 * kSecond);
  job.run_until(plan.end_unix_ns + 2 * kSecond, 100);
  EXPECT_DOUBLE_EQ(*job.pace.cost_ms(plan, 0, plan.end_unix_ns + 2 * kSecond), 0);
}

TEST(StepPace, CostIsWhatStepsTookLonger) {
  Job job;
  const WindowPlan plan = plan_at(kBegin + 30 * kSecond);
  job.run_until(plan.start_unix_ns, 100);
  job.run_until(plan.end_unix_ns, 125);            // 24 steps, 25 ms each
  job.run_until(plan.end_unix_ns + kSecond, 500);  // 2 steps while files are written
  job.run_until(plan.end_unix_ns + 20 * kSecond, 100);
  EXPECT_NEAR(*job.pace.cost_ms(plan, 0, plan.end_unix_ns + kSecond), 24 * 25 + 2 * 400, 1);
}

TEST(StepPace, ASlowJobIsMeasuredByItsSlowSteps) {
  Job job;
  const int64_t onset_ns = kBegin + 29 * kSecond;
  job.run_until(onset_ns, 20);
  const WindowPlan plan = plan_at(kBegin + 30 * kSecond);
  job.run_until(plan.end_unix_ns + kSecond, 60);
  EXPECT_NEAR(*job.pace.cost_ms(plan, onset_ns, plan.end_unix_ns + kSecond), 0, 1e-6);
  EXPECT_GT(*job.pace.cost_ms(plan, 0, plan.end_unix_ns + kSecond), 1000) << "by healthy steps";
}

TEST(StepPace, AnOnsetThatIsToldTooEarlyDoesNotMatter) {
  Job job;
  job.run_until(kBegin + 29 * kSecond, 20);
  const WindowPlan plan = plan_at(kBegin + 30 * kSecond);
  job.run_until(plan.end_unix_ns + kSecond, 60);
  EXPECT_NEAR(*job.pace.cost_ms(plan, kBegin + 28 * kSecond, plan.end_unix_ns + kSecond), 0, 1e-6);
}

TEST(StepPace, RecordsThatWereLostAreNoLongSteps) {
  Job job;
  const WindowPlan plan = plan_at(kBegin + 30 * kSecond);
  job.run_until(plan.start_unix_ns + kSecond, 100);
  job.now_ns += 500 * kMs;
  job.step += 5;
  job.run_until(plan.end_unix_ns, 100);
  EXPECT_NEAR(*job.pace.cost_ms(plan, 0, plan.end_unix_ns), 0, 1e-6);
}

TEST(StepPace, NothingIsSaidOfTooFewSteps) {
  Job job;
  const WindowPlan plan = plan_at(kBegin + 30 * kSecond);
  EXPECT_FALSE(job.pace.cost_ms(plan, 0, plan.end_unix_ns));
  job.run_until(plan.end_unix_ns, 15'000);
  EXPECT_FALSE(job.pace.cost_ms(plan, 0, plan.end_unix_ns));
  Job blocked;
  blocked.run_until(kBegin + 20 * kSecond, 100);
  EXPECT_FALSE(blocked.pace.cost_ms(plan, 0, plan.end_unix_ns)) << "no step since";
}

TEST(StepPace, OneRankSpeaksUntilItEnds) {
  Job job;
  const WindowPlan plan = plan_at(kBegin + 30 * kSecond);
  job.run_until(plan.start_unix_ns, 100, 3);
  job.pace.push({1, 5, job.now_ns + kSecond, kSecond, 0, 0});  // another's
  job.run_until(plan.end_unix_ns, 100, 3);
  EXPECT_NEAR(*job.pace.cost_ms(plan, 0, plan.end_unix_ns), 0, 1e-6);
  job.pace.leave(1);
  EXPECT_TRUE(job.pace.cost_ms(plan, 0, plan.end_unix_ns));
  job.pace.leave(3);
  EXPECT_FALSE(job.pace.cost_ms(plan, 0, plan.end_unix_ns));
}

}  // namespace
}  // namespace eroica::testing
