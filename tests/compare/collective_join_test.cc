#include "compare/collective_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "pattern/random_pattern.h"

namespace eroica {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kTransferNs = 5 * kMs;

struct Shape {
  int ranks = 4;
  size_t steps = 30;
  std::vector<int64_t> late_ns{};   ///< by rank: of each step
  std::vector<size_t> cut{};        ///< by rank: instances missing at the window's front
  std::vector<int64_t> clock_ns{};  ///< by rank: its clock is ahead
  bool numbered = false;
  std::string kind = "all_reduce";
  std::vector<int32_t> told_members{0, 1, 2, 3};
  int32_t told_size = 4;
};

int64_t at(const std::vector<int64_t>& values, int rank) {
  return static_cast<size_t>(rank) < values.size() ? values[static_cast<size_t>(rank)] : 0;
}

/// Two collectives of different size a step; steps are of different length, which is what the ranks' clocks share.
std::vector<RankPattern> job(const Shape& shape) {
  std::vector<RankPattern> patterns;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::mt19937 random(1);
    std::uniform_int_distribution<int64_t> noise_ns(0, 9 * kMs);
    RankPattern pattern;
    pattern.rank = rank;
    pattern.window_ns = 5'000 * kMs;
    pattern.groups.push_back({"0", "default_pg", shape.told_members, shape.told_size});
    pattern.collectives.push_back({.kind = shape.kind, .dtype = "float", .group = 0, .count = 2 * shape.steps});
    const size_t cut = static_cast<size_t>(rank) < shape.cut.size() ? shape.cut[static_cast<size_t>(rank)] : 0;
    int64_t now_ns = 1'000 * kMs;
    size_t index = 0;
    const int64_t latest_ns = shape.late_ns.empty() ? 0 : *std::max_element(shape.late_ns.begin(), shape.late_ns.end());
    for (size_t step = 0; step < shape.steps; ++step) {
      now_ns += 80 * kMs + noise_ns(random);
      for (const int64_t bytes : {int64_t{1} << 20, int64_t{3} << 20}) {
        now_ns += 10 * kMs;
        const int64_t own_ns = latest_ns - at(shape.late_ns, rank) + kTransferNs;
        if (index >= cut) {
          pattern.instances.push_back({.summary = 0,
                                       .sequence = shape.numbered ? static_cast<int64_t>(index) : -1,
                                       .start_ns = now_ns - own_ns + at(shape.clock_ns, rank),
                                       .duration_ns = own_ns,
                                       .bytes = bytes});
        }
        ++index;
      }
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

TEST(JoinCollectives, TheLastToComeIsTheOneThatOthersWaitFor) {
  for (const bool numbered : {false, true}) {
    const auto joined = join_collectives(job({.late_ns = {0, 0, 30 * kMs, 0}, .numbered = numbered}));
    ASSERT_THAT(joined, SizeIs(1));
    const JoinedCollective& one = joined.front();
    EXPECT_EQ(one.by, numbered ? AlignedBy::kSequence : AlignedBy::kIntervals);
    EXPECT_EQ(one.kind, "all_reduce float");
    EXPECT_EQ(one.joined, 60u);
    EXPECT_EQ(one.seen, 60u);
    EXPECT_TRUE(one.whole);
    EXPECT_TRUE(one.is_telling());
    EXPECT_NEAR(one.last_us, 5'000, 1e-6);
    ASSERT_THAT(one.members, SizeIs(4));
    for (const JoinedMember& member : one.members) {
      EXPECT_NEAR(member.late_us, member.rank == 2 ? 30'000 : 0, 1e-6) << member.rank;
      EXPECT_NEAR(member.wait_us, member.rank == 2 ? 0 : 30'000, 1e-6) << member.rank;
    }
    EXPECT_NEAR(one.members[0].per_step, 60, 1e-9);
  }
}

TEST(JoinCollectives, NoClockIsCompared) {
  const Shape near{.late_ns = {0, 20 * kMs, 0, 7 * kMs}};
  Shape far = near;
  far.clock_ns = {0, 600 * kMs, -400 * kMs, 17 * kMs};
  const auto a = join_collectives(job(near));
  const auto b = join_collectives(job(far));
  ASSERT_THAT(a, SizeIs(1));
  ASSERT_THAT(b, SizeIs(1));
  ASSERT_EQ(a.front().joined, b.front().joined);
  ASSERT_THAT(b.front().members, SizeIs(4));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(b.front().members[i].late_us, DoubleNear(a.front().members[i].late_us, 1e-6));
    EXPECT_THAT(b.front().members[i].wait_us, DoubleNear(a.front().members[i].wait_us, 1e-6));
  }
}

TEST(JoinCollectives, WindowsCutTheCountDifferently) {
  const auto joined = join_collectives(job({.late_ns = {10 * kMs}, .cut = {0, 3, 1, 6}}));
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().joined, 54u);
  EXPECT_EQ(joined.front().seen, 60u);
  EXPECT_NEAR(joined.front().members[0].late_us, 10'000, 1e-6);
}

TEST(JoinCollectives, TooFewToAlignAreNotJoined) {
  const auto joined = join_collectives(job({.steps = 2}));
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().by, AlignedBy::kNothing);
  EXPECT_EQ(joined.front().joined, 0u);
  EXPECT_FALSE(joined.front().is_telling());
  EXPECT_THAT(joined.front().why, HasSubstr("ranks 1-3 not aligned"));
}

TEST(JoinCollectives, ARootWaitsForNobody) { EXPECT_THAT(join_collectives(job({.kind = "broadcast"})), IsEmpty()); }

TEST(JoinCollectives, MoreRanksThanAGroupHasAreSeveralGroups) {
  EXPECT_THAT(join_collectives(job({.told_members = {}, .told_size = 2})), IsEmpty());
  EXPECT_THAT(join_collectives(job({.told_members = {}, .told_size = 4})), SizeIs(1));
  EXPECT_THAT(join_collectives(job({.told_members = {}, .told_size = -1})), IsEmpty());
}

TEST(JoinCollectives, MembersThatAreMissingAreTold) {
  const auto joined = join_collectives(job({.ranks = 2, .late_ns = {9 * kMs}}));
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().joined, 60u);
  EXPECT_FALSE(joined.front().whole);
  EXPECT_THAT(joined.front().why, HasSubstr("2 of 4 members"));
}

TEST(JoinCollectives, AShortTraceTakesNothingFromTheOthers) {
  const auto joined = join_collectives(job({.late_ns = {0, 12 * kMs}, .cut = {0, 0, 0, 55}, .numbered = true}));
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().joined, 60u);
  EXPECT_THAT(joined.front().members, SizeIs(3));
  EXPECT_FALSE(joined.front().whole);
  EXPECT_NEAR(joined.front().members[1].late_us, 12'000, 1e-6);
  EXPECT_THAT(joined.front().why, HasSubstr("rank 3: few of its instances"));
}

TEST(JoinCollectives, WhatTheWindowCutIsNoLateArrival) {
  std::vector<RankPattern> patterns = job({.numbered = true});
  CollectiveInstance& first = patterns[2].instances.front();
  first.duration_ns = 1 * kMs;
  first.start_ns = 0;
  patterns[1].window_ns = patterns[1].instances.back().start_ns + kMs;
  patterns[1].instances.back().duration_ns = kMs;
  const auto joined = join_collectives(patterns);
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().joined, 58u);
  for (const JoinedMember& member : joined.front().members) EXPECT_NEAR(member.late_us, 0, 1e-6) << member.rank;
}

TEST(JoinCollectives, ASampleStandsForAll) {
  std::vector<RankPattern> patterns = job({.late_ns = {8 * kMs}, .numbered = true});
  for (RankPattern& pattern : patterns) {
    pattern.instances_seen = pattern.instances.size();
    std::erase_if(pattern.instances, [](const CollectiveInstance& one) { return one.sequence % 4 != 0; });
  }
  const auto joined = join_collectives(patterns);
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().joined, 15u);
  EXPECT_NEAR(joined.front().members[0].per_step, 60, 1e-9);
}

TEST(JoinCollectives, CountsAStepAndWhatRunsAtOnceOnce) {
  std::vector<RankPattern> patterns = job({.numbered = true});
  for (RankPattern& pattern : patterns) {
    for (size_t i = 0; i + 1 < pattern.instances.size(); i += 2) {  // the first step is cut, the last two are irregular
      pattern.steps.push_back({.start_ns = pattern.instances[i].start_ns - kMs,
                               .duration_ns = 50 * kMs,
                               .complete = i > 0,
                               .irregular = i > 54});
    }
    pattern.collectives[0].total_ns = 30 * 2 * kTransferNs / 2;  // both of a step run at the same time
  }
  const auto joined = join_collectives(patterns);
  ASSERT_THAT(joined, SizeIs(1));
  for (const JoinedMember& member : joined.front().members) EXPECT_NEAR(member.per_step, 1, 1e-9);
}

TEST(JoinCollectives, ANumberThatCameTwiceIsOfNoUse) {
  std::vector<RankPattern> patterns = job({.numbered = true});
  patterns[3].instances[7].sequence = patterns[3].instances[6].sequence;
  const auto joined = join_collectives(patterns);
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().joined, 58u);
}

TEST(JoinCollectives, MessagesAreJoinedByPair) {
  std::vector<RankPattern> patterns = job({.late_ns = {25 * kMs, 0, 0, 0}, .kind = "send"});
  for (RankPattern& pattern : patterns) {
    if (pattern.rank % 2 == 1) pattern.collectives[0].kind = "recv";
    for (CollectiveInstance& instance : pattern.instances) {
      instance.peer = pattern.rank % 2 == 0 ? pattern.rank + 1 : pattern.rank - 1;
    }
  }
  const auto joined = join_collectives(patterns);
  ASSERT_THAT(joined, SizeIs(2));
  EXPECT_EQ(joined[0].kind, "message float");
  EXPECT_EQ(joined[0].members[0].rank, 0);
  EXPECT_NEAR(joined[0].members[0].late_us, 25'000, 1e-6);
  EXPECT_NEAR(joined[0].members[1].wait_us, 25'000, 1e-6);
  EXPECT_NEAR(joined[1].members[0].late_us, 0, 1e-6);
  EXPECT_NEAR(joined[1].members[0].wait_us, 0, 1e-6);
}

RC_GTEST_PROP(JoinCollectives, TakesWhateverPatternsHold, ()) {
  std::vector<RankPattern> patterns;
  for (int rank = 0; rank < 3; ++rank) {
    patterns.push_back(any_pattern(20));
    patterns.back().rank = rank;
    if (rank > 0) {  // else they share no group
      patterns.back().groups = patterns.front().groups;
      patterns.back().collectives = patterns.front().collectives;
    }
  }
  for (const JoinedCollective& one : join_collectives(patterns)) {
    RC_ASSERT(one.joined <= one.seen);
    RC_ASSERT((one.by == AlignedBy::kNothing) == (one.joined == 0));
    for (const JoinedMember& member : one.members) {
      RC_ASSERT(member.late_us >= 0);
      RC_ASSERT(member.wait_us >= 0);
    }
  }
}

}  // namespace
}  // namespace eroica
