#include "compare/stage_balance.h"

#include <gtest/gtest.h>

#include "jobs.h"

namespace eroica {
namespace {

// Two stages of two ranks with these shares of compute.
Job pipeline(float a, float b, float c, float d) {
  Job job = bare_job(4);
  job.gpu_job = true;
  size_t rank = 0;
  for (const float share : {a, b, c, d}) {
    job.ranks[rank++].share[static_cast<size_t>(TimeClass::kCompute)] = share;
  }
  return job;
}

Peers two_stages() {
  Peers peers;
  peers.sets = {{"stage 0", "", {0, 1}, 0}, {"stage 1", "", {2, 3}, 1}};
  peers.set_of = {0, 0, 1, 1};
  peers.stages = 2;
  return peers;
}

TEST(StageBalance, TheStageWhoseUsualRankWorksMostIsTheLongest) {
  const auto balance = stage_balance(pipeline(0.3F, 0.3F, 0.6F, 0.7F), two_stages());
  ASSERT_TRUE(balance.has_value());
  EXPECT_EQ(balance->longest, 1);
  EXPECT_NEAR(balance->mean, (0.3 + 0.65) / 2, 1e-6);
  EXPECT_NEAR(balance->excess, 0.65 - (0.3 + 0.65) / 2, 1e-6);
  EXPECT_NEAR(balance->spread, 0.1, 1e-6);
}

TEST(StageBalance, WhatHostsDoMakesNoStageLong) {
  Job job = pipeline(0.3F, 0.3F, 0.5F, 0.5F);
  job.ranks[0].share[static_cast<size_t>(TimeClass::kDataloader)] = 0.6F;
  EXPECT_EQ(stage_balance(job, two_stages())->longest, 1);
}

TEST(StageBalance, NothingIsSaidWithoutAPipelineOrAcrossModels) {
  Job job = pipeline(0.3F, 0.3F, 0.6F, 0.6F);
  Peers one = two_stages();
  one.stages = 1;
  EXPECT_FALSE(stage_balance(job, one).has_value());
  job.ranks[3].device = add_word(job, "NVIDIA B200");
  EXPECT_FALSE(stage_balance(job, two_stages()).has_value());
}

}  // namespace
}  // namespace eroica
