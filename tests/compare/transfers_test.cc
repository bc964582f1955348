#include "compare/transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace eroica {
namespace {

using testing::ElementsAre;

/// Eight ranks on four hosts; four groups of two, each within a host; the third is slow.
Job pairs(float slow_us = 400) {
  Job job = bare_job(8);
  const uint32_t kind = add_word(job, "all_reduce");
  for (uint32_t host = 0; host < 4; ++host) {
    const uint32_t word = add_word(job, "node" + std::to_string(host));
    job.ranks[2 * host].host = word;
    job.ranks[2 * host + 1].host = word;
  }
  for (int32_t pair = 0; pair < 4; ++pair) add_group(job, {2 * pair, 2 * pair + 1}, kind, pair == 2 ? slow_us : 100);
  return job;
}

TEST(Transfers, TheMemberThatCameLastTellsTheTransfer) {
  Job job = pairs();
  job.collectives[1].p50_us = 40;  // of rank 1, which the other waited for
  const std::vector<Transfer> found = transfers(job);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].transfer_us, 40);
  EXPECT_THAT(found[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(found[0].span, Span::kOneHost);
}

TEST(Transfers, SmallOnesAreLeftOut) {
  Job job = bare_job(2);
  add_group(job, {0, 1}, add_word(job, "all_reduce"), 10, 100);
  EXPECT_TRUE(transfers(job).empty());
}

TEST(Transfers, HostsTellTheSpan) {
  Job job = bare_job(2);
  add_group(job, {0, 1}, add_word(job, "all_reduce"), 10);
  EXPECT_EQ(transfers(job)[0].span, Span::kUnknown);
  job.ranks[0].host = add_word(job, "a");
  job.ranks[1].host = add_word(job, "b");
  EXPECT_EQ(transfers(job)[0].span, Span::kHosts);
}

TEST(Transfers, RatioIsToLikeGroupsWithoutTheSubject) {
  const Job job = pairs(400);
  const std::vector<Transfer> all = transfers(job);
  EXPECT_NEAR(transfer_ratio(all, job, Subject({4, 5}, 8), Span::kUnknown).value(), 4, 1e-6);
  EXPECT_NEAR(transfer_ratio(all, job, Subject({4}, 8), Span::kOneHost).value(), 4, 1e-6);
  EXPECT_NEAR(transfer_ratio(all, job, Subject({0}, 8), Span::kUnknown).value(), 1, 1e-6);
  EXPECT_FALSE(transfer_ratio(all, job, Subject({4}, 8), Span::kHosts).has_value());
  EXPECT_FALSE(transfer_ratio(all, job, Subject({0, 2, 4, 6}, 8), Span::kUnknown).has_value());
}

/// Rank 0 comes last to the only collective of two ranks, of which each hides nothing.
struct Waiting {
  Waiting() {
    add_group(job, {0, 1}, add_word(job, "all_reduce"), 100);
    job.collectives[0].total = job.collectives[0].exposed = 0.1F;
    job.collectives[1].total = job.collectives[1].exposed = 0.5F;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      job.ranks[rank].share[static_cast<size_t>(TimeClass::kCommunication)] = job.collectives[rank].exposed;
    }
    one.by = AlignedBy::kSequence;
    one.joined = one.seen = 20;
    one.last_us = 100;
    one.members = {{.rank = 0}, {.rank = 1, .wait_us = 400}};
  }
  Job job = bare_job(2);
  JoinedCollective one;
};

TEST(ExposedTransfers, WaitingForALateMemberIsNone) {
  const Waiting waiting;
  EXPECT_THAT(exposed_transfers(waiting.job, {waiting.one}),
              ElementsAre(testing::DoubleNear(0.1, 1e-6), testing::DoubleNear(0.1, 1e-6)));
  EXPECT_THAT(exposed_transfers(waiting.job, {}),
              ElementsAre(testing::DoubleNear(0.1, 1e-6), testing::DoubleNear(0.5, 1e-6)));
}

TEST(ExposedTransfers, AFewInstancesOrWaitsWithinTheErrorTellNothing) {
  Waiting few;
  few.one.joined = 7;
  EXPECT_NEAR(exposed_transfers(few.job, {few.one})[1], 0.5, 1e-6);
  Waiting unsure;
  unsure.one.error_us = 500;
  EXPECT_NEAR(exposed_transfers(unsure.job, {unsure.one})[1], 0.5, 1e-6);
}

TEST(ExposedTransfers, WhatMovesBesideAWaitCounts) {
  Waiting waiting;
  add_group(waiting.job, {1}, add_word(waiting.job, "all_gather"), 100);  // all hidden behind the other's wait
  for (CollectiveUse& use : waiting.job.collectives) {
    if (waiting.job.words[use.kind] == "all_gather") {
      use.summary = 1;
      use.total = 0.45F;
      use.exposed = 0;
    }
  }
  EXPECT_NEAR(exposed_transfers(waiting.job, {waiting.one})[1], 0.45, 1e-6);
}

TEST(Transfers, EvenlyShortOnesWouldSaveWhatTheSlowestGroupTakesMore) {
  Job job = pairs(400);
  for (CollectiveUse& use : job.collectives) {
    use.count = 50;  // 20 ms of a step of 100 in the slow group, 5 in the others
    use.total = use.exposed = 0.4F;
  }
  EXPECT_NEAR(transfers_beyond_shortest(transfers(job), job), 0.2 * (1 - 100.0 / 400), 1e-6);
  for (CollectiveUse& use : job.collectives) use.exposed = 0.2F;  // half of it beside compute
  EXPECT_NEAR(transfers_beyond_shortest(transfers(job), job), 0.1 * (1 - 100.0 / 400), 1e-6);
  EXPECT_EQ(transfers_beyond_shortest(transfers(pairs(100)), pairs(100)), 0);
}

}  // namespace
}  // namespace eroica
