#include "compare/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace eroica {
namespace {

using testing::ElementsAre;

/// dp × stages ranks as Megatron numbers them: rank = stage · dp + dp_rank; neighbours in the pipeline exchange.
Job pipeline(int32_t dp, int32_t stages) {
  Job job = bare_job(static_cast<size_t>(dp) * static_cast<size_t>(stages));
  const uint32_t kind = add_word(job, "all_reduce");
  for (int32_t stage = 0; stage < stages; ++stage) {
    std::vector<int32_t> members;
    for (int32_t d = 0; d < dp; ++d) members.push_back(stage * dp + d);
    add_group(job, members, kind, 100);
    for (int32_t d = 0; d < dp && stage + 1 < stages; ++d)
      job.exchanges.emplace_back(stage * dp + d, (stage + 1) * dp + d);
  }
  return job;
}

TEST(Peers, WithoutPipelineAllRanksArePeers) {
  Job job = bare_job(5);
  add_group(job, {0, 1, 2, 3, 4}, add_word(job, "all_reduce"), 100);
  const Peers peers = find_peers(job);
  ASSERT_EQ(peers.sets.size(), 1U);
  EXPECT_THAT(peers.sets[0].ranks, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(peers.stages, 1);
  EXPECT_TRUE(peers.certain);
}

TEST(Peers, StagesAreTheRanksThatCollectivesJoin) {
  const Peers peers = find_peers(pipeline(3, 4));
  ASSERT_EQ(peers.sets.size(), 4U);
  EXPECT_EQ(peers.stages, 4);
  for (uint32_t stage = 0; stage < 4; ++stage) {
    EXPECT_THAT(peers.sets[stage].ranks, ElementsAre(3 * stage, 3 * stage + 1, 3 * stage + 2));
    EXPECT_EQ(peers.sets[stage].stage, static_cast<int32_t>(stage));
  }
}

TEST(Peers, ReplicasThatShareNoGroupArePeersByTheirStage) {
  Job job = bare_job(6);  // two pipelines of three, nothing else
  job.exchanges = {{0, 1}, {1, 2}, {3, 4}, {4, 5}};
  const Peers peers = find_peers(job);
  EXPECT_EQ(peers.stages, 3);
  EXPECT_EQ(peers.set_of[0], peers.set_of[3]);
  EXPECT_EQ(peers.set_of[2], peers.set_of[5]);
  EXPECT_NE(peers.set_of[0], peers.set_of[1]);
}

TEST(Peers, OtherAcceleratorsAreNoPeers) {
  Job job = bare_job(4);
  const uint32_t other = add_word(job, "A100");
  job.ranks[1].device = other;
  job.ranks[3].device = other;
  const Peers peers = find_peers(job);
  EXPECT_EQ(peers.sets.size(), 2U);
  EXPECT_EQ(peers.set_of[1], peers.set_of[3]);
  EXPECT_NE(peers.set_of[0], peers.set_of[1]);
}

TEST(Peers, EveryRankIsInItsSetAndInNoOther) {
  for (const auto& [dp, stages] : std::vector<std::pair<int32_t, int32_t>>{{1, 2}, {2, 2}, {1, 5}, {4, 8}, {7, 1}}) {
    const Job job = pipeline(dp, stages);
    const Peers peers = find_peers(job);
    std::vector<int> seen(job.ranks.size());
    for (uint32_t set = 0; set < peers.sets.size(); ++set) {
      for (const uint32_t rank : peers.sets[set].ranks) {
        ++seen[rank];
        EXPECT_EQ(peers.set_of[rank], set);
      }
    }
    EXPECT_THAT(seen, testing::Each(1));
    EXPECT_EQ(peers.stages, stages);
  }
}

}  // namespace
}  // namespace eroica
