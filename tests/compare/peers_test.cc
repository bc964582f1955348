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

/// A function that each of `ranks` runs `calls` times a step. Call rank after rank.
void run(Job& job, size_t rank, const std::vector<std::pair<uint32_t, float>>& functions) {
  for (const auto& [function, calls] : functions) {
    FunctionUse use;
    use.function = function;
    use.calls = calls;
    use.exposed = use.self = 0.05F;
    add_use(job, rank, use);
  }
}

/// Layers of an attention and a product on every rank; `more` on some.
void run_layers(Job& job, size_t ranks, const std::vector<std::pair<size_t, uint32_t>>& more = {}) {
  const uint32_t attention = add_function(job, FunctionKind::kCompute, Workload::kMatrix);
  const uint32_t product = add_function(job, FunctionKind::kCompute, Workload::kMatrix);
  for (size_t rank = 0; rank < ranks; ++rank) {
    run(job, rank, {{attention, 24}, {product, 96}});
    for (const auto& [of, function] : more) {
      if (of == rank) run(job, rank, {{function, 1}});
    }
  }
}

/// Four ranks whose messages go round one group.
Job ring(const std::string& desc) {
  Job job = bare_job(4);
  add_group(job, {0, 1, 2, 3}, add_word(job, "send"), 100);
  job.groups[0].desc = desc;
  job.exchanges = {{0, 1}, {0, 3}, {1, 2}, {2, 3}};
  return job;
}

TEST(Peers, RingAttentionIsNoPipeline) {
  const Peers described = find_peers(ring("CONTEXT_PARALLEL_GROUP"));
  ASSERT_EQ(described.sets.size(), 1U);
  EXPECT_EQ(described.stages, 1);
  EXPECT_EQ(find_peers(ring("mesh_cp")).sets.size(), 1U);
  Job alike = ring("undefined");
  run_layers(alike, 4);
  EXPECT_EQ(find_peers(alike).sets.size(), 1U);
}

TEST(Peers, OneOddRankOfARingIsStillAPeer) {
  Job job = ring("undefined");
  const uint32_t other = add_function(job, FunctionKind::kCompute);
  run_layers(job, 4, {{2, other}});
  EXPECT_EQ(find_peers(job).sets.size(), 1U);
}

TEST(Peers, APipelineWhoseLastStageSendsToTheFirstIsNoRingOfPeers) {
  Job job = ring("undefined");
  const uint32_t embedding = add_function(job, FunctionKind::kCompute);
  const uint32_t head = add_function(job, FunctionKind::kCompute);
  run_layers(job, 4, {{0, embedding}, {3, head}});
  const Peers peers = find_peers(job);
  EXPECT_EQ(peers.stages, 4);
  for (uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(peers.sets[peers.set_of[rank]].stage, static_cast<int32_t>(rank));
}

TEST(Peers, ExpertsThatExchangeMessagesAreNoStages) {
  Job job = bare_job(4);
  add_group(job, {0, 1, 2, 3}, add_word(job, "send"), 100);
  job.exchanges = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  run_layers(job, 4);
  EXPECT_EQ(find_peers(job).sets.size(), 1U);
}

TEST(Peers, ContextParallelRanksOfAStageArePeers) {
  Job job = bare_job(4);  // two stages of two
  const uint32_t send = add_word(job, "send");
  job.groups = {{"cp0", "CONTEXT_PARALLEL_GROUP", {0, 1}, 2},
                {"cp1", "CONTEXT_PARALLEL_GROUP", {2, 3}, 2},
                {"pp0", "PIPELINE_MODEL_PARALLEL_GROUP", {0, 2}, 2},
                {"pp1", "PIPELINE_MODEL_PARALLEL_GROUP", {1, 3}, 2}};
  for (uint32_t rank = 0; rank < 4; ++rank) {
    job.ranks[rank].collectives_begin = static_cast<uint32_t>(job.collectives.size());
    job.collectives.push_back({.group = rank / 2, .kind = send, .count = 64});
    job.collectives.push_back({.group = 2 + rank % 2, .kind = send, .count = 4});
    job.ranks[rank].collectives_end = static_cast<uint32_t>(job.collectives.size());
  }
  job.exchanges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const Peers peers = find_peers(job);
  ASSERT_EQ(peers.stages, 2);
  EXPECT_THAT(peers.sets[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(peers.sets[1].ranks, ElementsAre(2, 3));
  EXPECT_EQ(peers.micro_batches, 4);
}

TEST(Peers, RanksThatPassMessagesAndReduceGradientsTogetherShareAStage) {
  Job job = bare_job(4);  // two stages of two, which pass keys and values to each other; no group is described
  const uint32_t send = add_word(job, "send");
  const uint32_t reduce = add_word(job, "all_reduce");
  job.groups = {{"0", "", {0, 1}, 2}, {"1", "", {2, 3}, 2}, {"2", "", {0, 1}, 2},
                {"3", "", {2, 3}, 2}, {"4", "", {0, 2}, 2}, {"5", "", {1, 3}, 2}};
  for (uint32_t rank = 0; rank < 4; ++rank) {
    job.ranks[rank].collectives_begin = static_cast<uint32_t>(job.collectives.size());
    job.collectives.push_back({.group = rank / 2, .kind = reduce, .count = 8, .bytes = 1 << 20});
    job.collectives.push_back({.group = 2 + rank / 2, .kind = send, .count = 64, .bytes = 1 << 20});
    job.collectives.push_back({.group = 4 + rank % 2, .kind = send, .count = 4, .bytes = 1 << 20});
    job.ranks[rank].collectives_end = static_cast<uint32_t>(job.collectives.size());
  }
  const uint32_t head = add_function(job, FunctionKind::kCompute);
  run_layers(job, 4, {{2, head}, {3, head}});
  const Peers peers = find_peers(job);
  ASSERT_EQ(peers.stages, 2);
  EXPECT_THAT(peers.sets[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(peers.sets[1].ranks, ElementsAre(2, 3));
  EXPECT_EQ(peers.micro_batches, 4);
}

TEST(Peers, AGroupOverTensorAndPipelineSaysNothingOfTwoOfItsRanks) {
  Job job = pipeline(2, 2);
  job.groups.push_back({"mp", "TENSOR_AND_PIPELINE_MODEL_PARALLEL_GROUP", {0, 1, 2, 3}, 4});
  const Peers peers = find_peers(job);
  EXPECT_EQ(peers.stages, 2);
  EXPECT_EQ(peers.set_of[0], peers.set_of[1]);
}

TEST(Peers, TheFirstAndTheLastStageShareAnEmbeddingAndNothingElse) {
  Job job = pipeline(2, 4);
  job.groups.push_back({"e", "", {0, 6}, 2});
  job.groups.push_back({"f", "", {1, 7}, 2});
  const Peers peers = find_peers(job);
  EXPECT_EQ(peers.stages, 4);
  EXPECT_NE(peers.set_of[0], peers.set_of[6]);
}

TEST(Peers, AStageThatNobodySawShiftsNoOther) {
  Job job = pipeline(2, 4);
  job.ranks.erase(job.ranks.begin() + 4, job.ranks.begin() + 6);  // stage 2
  job.groups[2].ranks.clear();
  const Peers peers = find_peers(job);
  ASSERT_EQ(peers.sets.size(), 3U);
  EXPECT_EQ(peers.stages, 4);
  EXPECT_EQ(peers.sets[0].name, "stage 0");
  EXPECT_EQ(peers.sets[1].name, "stage 1");
  EXPECT_EQ(peers.sets[2].name, "stage 3");
  EXPECT_THAT(peers.sets[2].ranks, ElementsAre(4, 5));  // ranks 6 and 7
}

TEST(Peers, PartsOfAPipelineWithAGapAreNotTakenForReplicas) {
  Job job = bare_job(6);  // one pipeline of six, of whose middle nobody knows who is beside whom
  job.ranks.erase(job.ranks.begin() + 2, job.ranks.begin() + 4);
  job.exchanges = {{0, 1}, {1, 2}, {3, 4}, {4, 5}};
  const Peers peers = find_peers(job);
  for (uint32_t a = 0; a < 4; ++a) {
    for (uint32_t b = a + 1; b < 4; ++b) EXPECT_NE(peers.set_of[a], peers.set_of[b]);
  }
}

/// Ranks `first` to `last` run `functions` others and reduce among themselves.
void add_program(Job& job, int32_t first, int32_t last, int functions, uint32_t kind) {
  std::vector<int32_t> members;
  std::vector<std::pair<uint32_t, float>> all;
  all.reserve(static_cast<size_t>(functions));
  for (int i = 0; i < functions; ++i) all.emplace_back(add_function(job, FunctionKind::kCompute), 8);
  for (int32_t rank = first; rank <= last; ++rank) {
    members.push_back(rank);
    run(job, static_cast<size_t>(rank), all);
  }
  add_group(job, members, kind, 100);
}

TEST(Peers, DifferentProgramsThatNoCollectiveJoinsAreNoPeers) {
  Job job = bare_job(8);
  const uint32_t kind = add_word(job, "all_reduce");
  add_program(job, 0, 3, 10, kind);
  add_program(job, 4, 7, 10, kind);
  const Peers peers = find_peers(job);
  ASSERT_EQ(peers.sets.size(), 2U);
  EXPECT_THAT(peers.sets[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(peers.stages, 1);
  EXPECT_TRUE(peers.certain);
}

TEST(Peers, ReplicasThatNothingJoinsArePeersByTheirProgram) {
  Job job = bare_job(6);
  run_layers(job, 6);
  EXPECT_EQ(find_peers(job).sets.size(), 1U);
}

TEST(Peers, WithoutGroupsASmallDifferenceOfSpeedIsNone) {
  Job job = bare_job(3);
  const uint32_t group = add_group(job, {0, 1, 2}, add_word(job, "send"), 100);
  job.groups[group].ranks.clear();
  job.groups[group].size = 3;
  run_layers(job, 3);
  job.uses[0].calls += 0.5F;
  FunctionUse hardly;  // only on the fast rank does it take so large a share
  hardly.function = add_function(job, FunctionKind::kCompute);
  hardly.calls = 4;
  hardly.exposed = 0.0005F;
  add_use(job, 2, hardly);
  const Peers peers = find_peers(job);
  EXPECT_FALSE(peers.certain);
  EXPECT_EQ(peers.sets.size(), 1U);
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
