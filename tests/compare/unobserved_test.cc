#include "compare/unobserved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/what_if.h"
#include "jobs.h"

namespace eroica {
namespace {

/// Own times of four ranks; rank 2 wrote no trace.
Job job_without_rank_2() {
  Job job = bare_job(4);
  for (size_t i = 0; i < 4; ++i) set_communication(job, i, 0.3F + 0.1F * static_cast<float>(i));
  job.ranks[2] = RankFacts{};
  job.ranks[2].rank = 2;
  job.ranks[2].observed = false;
  job.uses.push_back({.function = 0, .exposed = 0.25F});
  job.functions.push_back({.hash = 1, .kind = FunctionKind::kCompute});
  for (const size_t rank : {0, 1, 3}) job.ranks[rank].uses_end = 1;
  return job;
}

TEST(Unobserved, ARankWithoutATraceHasWhatATypicalPeerHas) {
  Job job = job_without_rank_2();
  stand_in_for_unobserved(job);
  const RankFacts& rank = job.ranks[2];
  EXPECT_EQ(rank.rank, 2);
  EXPECT_FALSE(rank.observed);
  EXPECT_NEAR(rank.own(), 0.6, 1e-6);  // of 0.3, 0.6 and 0.7 the middle one
  ASSERT_EQ(job.uses_of(rank).size(), 1U);
  EXPECT_NE(rank.uses_begin, job.ranks[1].uses_begin) << "a rank's functions are its own";
}

TEST(Unobserved, RanksOfAHostHaveItsAcceleratorAndRanksOfAStageItsWork) {
  Job job = bare_job(6);  // two stages of three
  const uint32_t accelerator = add_word(job, "A100");
  const uint32_t host = add_word(job, "node1");
  const uint32_t kind = add_word(job, "all_reduce");
  add_group(job, {0, 1, 2}, kind, 100);
  add_group(job, {3, 4, 5}, kind, 100);
  job.exchanges = {{0, 3}, {1, 4}, {2, 5}};
  for (size_t rank = 0; rank < 6; ++rank) {
    set_communication(job, rank, rank < 3 ? 0.2F : 0.5F);
    job.ranks[rank].device = accelerator;
    job.ranks[rank].host = rank < 3 ? 0 : host;
  }
  for (const size_t missing : {1, 4, 5}) {
    job.ranks[missing].observed = false;
    job.ranks[missing].device = 0;
    job.ranks[missing].share = {};
  }
  stand_in_for_unobserved(job);
  EXPECT_NEAR(job.ranks[1].own(), 0.8, 1e-6);
  EXPECT_NEAR(job.ranks[4].own(), 0.5, 1e-6);
  EXPECT_NEAR(job.ranks[5].own(), 0.5, 1e-6);
  for (const RankFacts& rank : job.ranks) EXPECT_EQ(rank.device, accelerator);
}

TEST(Unobserved, ItCannotHaveCostMoreThanAllOthersWaited) {
  Job job = job_without_rank_2();
  stand_in_for_unobserved(job);
  const Peers peers = one_set(4);
  EXPECT_NEAR(waited_for(job, peers.sets[0].ranks), 0.3, 1e-6);
  const StepModel model(job, peers);
  EXPECT_NEAR(model.lost_ms({0, 0, 0.3, 0}), 0.2 * job.step_ms, 1e-3);  // 0.6 + 0.3 beside the slowest other's 0.7
  EXPECT_EQ(model.lost_ms({0, 0, 0, 0}), 0);
}

TEST(Unobserved, WhereEveryRankWroteOneNothingChanges) {
  Job job = bare_job(3);
  const size_t uses = job.uses.size();
  stand_in_for_unobserved(job);
  EXPECT_EQ(job.uses.size(), uses);
  EXPECT_TRUE(is_observed(Subject({0, 1}, 3), job));
}

TEST(Unobserved, ASubjectIsObservedWhenAnyOfItsRanksIs) {
  const Job job = job_without_rank_2();
  EXPECT_FALSE(is_observed(Subject({2}, 4), job));
  EXPECT_TRUE(is_observed(Subject({1, 2}, 4), job));
}

}  // namespace
}  // namespace eroica
