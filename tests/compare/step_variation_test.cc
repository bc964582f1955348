#include "compare/step_variation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "jobs.h"

namespace eroica {
namespace {

/// own[rank][step]; numbered by the job.
Job job_of(const std::vector<std::vector<float>>& own, StepSource source = StepSource::kProfilerStep) {
  Job job = bare_job(own.size());
  for (size_t rank = 0; rank < own.size(); ++rank) {
    job.ranks[rank].step_source = source;
    job.ranks[rank].steps_numbered = source == StepSource::kProfilerStep;
    for (const float ms : own[rank]) add_step(job, rank, 100, ms, ms * 10);
  }
  return job;
}

StepVariation variation_of(const Job& job) { return step_variation(job, one_set(job.ranks.size()).sets[0]); }

TEST(StepVariation, ADifferentRankIsLateInEachStep) {
  std::vector<std::vector<float>> own(4, std::vector<float>(8, 50));
  for (size_t step = 0; step < 8; ++step) own[step % 4][step] = 90;
  const StepVariation found = variation_of(job_of(own));
  EXPECT_EQ(found.steps, 8U);
  EXPECT_EQ(found.slowest_ranks, 4U);
  EXPECT_NEAR(found.moving_share, 0.9 - 0.6, 1e-6);
  EXPECT_NEAR(found.work_correlation, 1, 1e-6);
}

TEST(StepVariation, TheSameRankIsAlwaysLate) {
  std::vector<std::vector<float>> own(4, std::vector<float>(8, 50));
  own[2].assign(8, 90);
  const StepVariation found = variation_of(job_of(own));
  EXPECT_EQ(found.slowest_ranks, 1U);
  EXPECT_NEAR(found.moving_share, 0, 1e-9);
}

TEST(StepVariation, FewStepsAndOneRankTellNothing) {
  EXPECT_EQ(variation_of(job_of({{1, 2, 3}, {1, 2, 3}})).steps, 0U);
  const StepVariation found = variation_of(job_of({{1, 2, 3, 4, 5, 6}}));
  EXPECT_EQ(found.steps, 0U);
  EXPECT_FALSE(found.why.empty());
}

TEST(StepVariation, UnnumberedStepsAreAlignedByTheirDurations) {
  Job job = bare_job(2);
  const std::vector<float> durations{100, 130, 90, 170, 110, 150, 80, 140, 120, 160};
  for (size_t rank = 0; rank < 2; ++rank) {
    job.ranks[rank].step_source = StepSource::kSequence;
    for (size_t step = rank; step < durations.size() - 1 + rank; ++step) add_step(job, rank, durations[step], 50);
  }
  EXPECT_EQ(variation_of(job).steps, 8U);  // one window began a step later
}

/// Eight ranks of eight steps, numbered by the job; in each step another one is late.
std::vector<std::vector<float>> moving() {
  std::vector<std::vector<float>> own(8, std::vector<float>(8, 50));
  for (size_t step = 0; step < 8; ++step) own[step][step] = 90;
  return own;
}

TEST(StepVariation, ARankWithoutNumbersDoesNotKeepTheOthersFromBeingAligned) {
  Job job = job_of(moving());
  job.ranks[5].steps_numbered = false;
  EXPECT_EQ(variation_of(job).steps, 8U);
  EXPECT_EQ(variation_of(job).why, "aligned by step number");
  EXPECT_EQ(variation_of(job).slowest_ranks, 7U) << "of the rank itself nothing is known";
  for (RankFacts& rank : job.ranks) rank.steps_numbered = &rank == &job.ranks[0];
  EXPECT_EQ(variation_of(job).steps, 8U);
  EXPECT_EQ(variation_of(job).why, "aligned by the steps' durations");
}

TEST(StepVariation, ALateRankDoesNotCostTheOthersTheirSteps) {
  Job job = job_of(moving());
  for (uint32_t step = job.ranks[3].steps_begin; step < job.ranks[3].steps_end; ++step) job.steps[step].number += 5;
  const StepVariation found = variation_of(job);
  EXPECT_EQ(found.steps, 8U);
  EXPECT_GT(found.moving_share, 0.2);
}

TEST(StepVariation, RanksThatEachMissAnotherStepAreLeftOutOneByOne) {
  Job job = job_of(moving());
  for (size_t rank = 0; rank < 4; ++rank) job.steps[job.ranks[rank].steps_begin + rank].regular = false;
  const StepVariation found = variation_of(job);
  EXPECT_GE(found.steps, 5U);
  EXPECT_GT(found.moving_share, 0.1);
}

TEST(StepVariation, WhatAStepLaunchedCountsWhereItIsKnown) {
  Job job = job_of(std::vector<std::vector<float>>(2, std::vector<float>(8, 50)));
  for (size_t i = 0; i < job.steps.size(); ++i) job.steps[i].launched_ms = i % 2 == 0 ? 80 : 40;
  for (size_t step = 0; step < 8; ++step) job.steps[8 + step].launched_ms = step % 2 == 0 ? 40 : 80;
  EXPECT_NEAR(variation_of(job).moving_share, 0.8 - 0.6, 1e-6);
}

double repeated_in(const std::vector<float>& multiples, bool gpu_job = false) {
  Job job = bare_job(1);
  job.gpu_job = gpu_job;
  for (const float times : multiples) add_step(job, 0, gpu_job ? 100 : 100 * times, 50, 1000 * times);
  if (gpu_job) {
    for (size_t i = 0; i < multiples.size(); ++i) job.steps[i].launched_ms = 60 * multiples[i];
  }
  return repeated_share(job, job.ranks[0]);
}

TEST(RepeatedShare, CountsStepsOfWholeMultiplesOfTheWork) {
  EXPECT_NEAR(repeated_in({1, 1, 2, 1, 1, 1, 1, 1, 3, 1}), 0.2, 1e-9);
  EXPECT_NEAR(repeated_in({2, 1, 2, 1, 2, 1, 2, 1}), 0.5, 1e-9);
  EXPECT_EQ(repeated_in({1, 1, 1.02F, 1, 0.98F, 1}), 0);
  EXPECT_NEAR(repeated_in({1, 1, 2, 1, 1, 1}, true), 1.0 / 6, 1e-9);
}

TEST(RepeatedShare, AnEvaluationIsNoRepeatedStep) {
  EXPECT_EQ(repeated_in({1, 1, 1, 1, 1.6F, 1, 1, 1, 1, 1, 1, 1}), 0);
  EXPECT_TRUE(std::isnan(repeated_in({1, 1.3F, 1.6F, 1.4F, 1, 1.2F}))) << "work varies";
  EXPECT_TRUE(std::isnan(repeated_in({1, 2}))) << "too few";
}

RC_GTEST_PROP(StepVariation, IsTheSumOfTheSlowestLessTheSlowestSum, ()) {
  const auto ranks = *rc::gen::inRange<size_t>(2, 6);
  const auto steps = *rc::gen::inRange<size_t>(5, 12);
  std::vector<std::vector<float>> own(ranks);
  for (auto& row : own) {
    const auto whole = *rc::gen::container<std::vector<int>>(steps, rc::gen::inRange(0, 100));
    row.assign(whole.begin(), whole.end());
  }
  double each = 0;
  double all = 0;
  for (size_t step = 0; step < steps; ++step) {
    float most = 0;
    for (const auto& row : own) most = std::max(most, row[step]);
    each += most;
  }
  for (const auto& row : own) {
    double sum = 0;
    for (const float ms : row) sum += ms;
    all = std::max(all, sum);
  }
  const StepVariation found = variation_of(job_of(own));
  RC_ASSERT(found.steps == steps);
  RC_ASSERT(std::abs(found.moving_share - (each - all) / (100.0 * static_cast<double>(steps))) < 1e-6);
  RC_ASSERT(found.moving_share >= -1e-9);
}

TEST(Bursts, EveryFifthStepIsSlow) {
  std::vector<std::vector<float>> own(1);
  for (int step = 0; step < 30; ++step) own[0].push_back(step % 5 == 2 ? 90 : 30);
  const Bursts found = bursts(job_of(own), Subject({0}, 1));
  EXPECT_EQ(found.steps, 30U);
  EXPECT_NEAR(found.period_steps, 5, 1e-9);
  EXPECT_NEAR(found.spike_ratio, 3, 1e-9);
  EXPECT_NEAR(found.burst_share, 0.5, 1e-9);  // three of the six spikes
}

TEST(Bursts, AnEvenRankHasNone) {
  const Bursts found = bursts(job_of({std::vector<float>(20, 30)}), Subject({0}, 1));
  EXPECT_EQ(found.burst_share, 0);
  EXPECT_EQ(found.period_steps, 0);
  EXPECT_NEAR(found.spike_ratio, 1, 1e-9);
}

}  // namespace
}  // namespace eroica
