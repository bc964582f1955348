#include "compare/what_if.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "jobs.h"

namespace eroica {
namespace {

Job job_of(const std::vector<double>& own) {
  Job job = bare_job(own.size());
  for (size_t i = 0; i < own.size(); ++i) set_communication(job, i, static_cast<float>(1 - own[i]));
  return job;
}

/// One rank a stage.
Peers stages(size_t count, double micro_batches) {
  Peers peers;
  for (uint32_t i = 0; i < count; ++i) peers.sets.push_back({"", "", {i}, static_cast<int32_t>(i)});
  peers.set_of.resize(count);
  std::iota(peers.set_of.begin(), peers.set_of.end(), 0U);
  peers.stages = static_cast<int32_t>(count);
  peers.micro_batches = micro_batches;
  return peers;
}

TEST(StepModel, TheSlowestRankOfAStageCounts) {
  const Job job = job_of({0.5, 0.5, 0.9, 0.5});
  const Peers peers = one_set(4);
  const StepModel model(job, peers);
  EXPECT_NEAR(model.own_share({0, 0, 0, 0}), 0.9, 1e-6);
  EXPECT_NEAR(model.lost_ms({0, 0, 0.4, 0}), 40, 1e-3);
  EXPECT_NEAR(model.lost_ms({0, 0, 0.8, 0}), 40, 1e-3);  // then another is the slowest
  EXPECT_EQ(model.lost_ms({0.4, 0.4, 0, 0.4}), 0);
  EXPECT_NEAR(model.slowdown(), 1 / 0.6, 1e-3);
}

TEST(StepModel, APipelineIsItsLongestStageAndTheFill) {
  const Job job = job_of({0.4, 0.8});
  const Peers peers = stages(2, 4);
  const StepModel model(job, peers);
  EXPECT_NEAR(model.own_share({0, 0}), (3 * 0.8 + 1.2) / 4, 1e-6);
  EXPECT_NEAR(model.slowdown(), 1, 1e-9);  // each is alone in its stage
  EXPECT_NEAR(model.slowdown_even(), 1 / (1 - (0.9 - 0.75)), 1e-5);
}

TEST(StepModel, EvenStepsAndTheShortestTransfersSaveMore) {
  const Job job = job_of({0.5, 0.7});
  const Peers peers = one_set(2);
  const StepModel model(job, peers);
  EXPECT_NEAR(model.slowdown_even(), 1 / 0.9, 1e-5);
  EXPECT_NEAR(model.slowdown_even({.between_steps = 0.1, .transfers = 0.05}), 1 / 0.75, 1e-5);
}

/// Micro-batch after micro-batch through stages of equal time each: m micro-batches of `stage[s]` / m.
double pipelined(const std::vector<double>& stage, int micro_batches) {
  std::vector<double> free(stage.size());
  for (int m = 0; m < micro_batches; ++m) {
    double ready = 0;
    for (size_t s = 0; s < stage.size(); ++s) {
      ready = std::max(ready, free[s]) + stage[s] / micro_batches;
      free[s] = ready;
    }
  }
  return free.back();
}

RC_GTEST_PROP(StepModel, AgreesWithAPipelineRunStepByStep, ()) {
  const auto tenths = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(1, 6), rc::gen::inRange(1, 1000));
  const auto micro_batches = *rc::gen::inRange(1, 12);
  std::vector<double> own;
  for (const int tenth : tenths) own.push_back(tenth * 1e-3);
  const Job job = job_of(own);
  const Peers peers = stages(own.size(), micro_batches);
  const StepModel model(job, peers);
  const double path = model.own_share(std::vector<double>(own.size()));
  RC_ASSERT(std::abs(path - pipelined(own, micro_batches)) < 1e-5);
}

RC_GTEST_PROP(StepModel, SavingMoreNeverLosesMore, ()) {
  const auto tenths = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(1, 8), rc::gen::inRange(0, 1000));
  std::vector<double> own;
  for (const int tenth : tenths) own.push_back(tenth * 1e-3);
  const Job job = job_of(own);
  const Peers peers = one_set(own.size());
  const StepModel model(job, peers);
  std::vector<double> half;
  for (const double value : own) half.push_back(value / 2);
  RC_ASSERT(model.lost_ms(std::vector<double>(own.size())) == 0);
  RC_ASSERT(model.lost_ms(half) <= model.lost_ms(own) + 1e-9);
  RC_ASSERT(model.slowdown() >= 1 && model.slowdown_even() >= 1);
}

}  // namespace
}  // namespace eroica
