#include "agent/blocked_inquiry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kListing =
    "Thread 0x00007f01 (most recent call first):\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 320 in wait\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 995 in _bootstrap\n"
    "\n"
    "Current thread 0x00007f02 (most recent call first):\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 327 in wait\n"
    "  File \"/home/ann/train.py\", line 33 in augment\n"
    "  File \"/home/ann/train.py\", line 60 in main\n"
    "  File \"/home/ann/train.py\", line 71 in <module>\n";

RankInquiry rank_at(int32_t rank, int64_t enqueued, int64_t completed, const std::string& operation = "all_reduce") {
  RankInquiry inquiry;
  inquiry.rank = rank;
  inquiry.pid = 100 + rank;
  inquiry.process.letter = 'S';
  inquiry.recorder_known = true;
  inquiry.groups = {{"0", "default_pg", enqueued, completed, operation, "[[4]]"}};
  return inquiry;
}

BlockedInquiry three_ranks() {
  BlockedInquiry inquiry;
  inquiry.world_size = 3;
  inquiry.ranks = {rank_at(0, 6, 5), rank_at(1, 5, 5), rank_at(2, 6, 5)};
  inquiry.groups = {{"0", "default_pg", {0, 1, 2}}};
  return inquiry;
}

TEST(StackListing, FindsTheProgramsThreadAndItsUser) {
  const std::vector<StackFrame> frames = main_stack(kListing);
  ASSERT_EQ(frames.size(), 4);
  const size_t at = innermost_user_frame(frames);
  ASSERT_EQ(at, 1);
  EXPECT_EQ(frames[at].function, "augment");
  EXPECT_EQ(frames[at].line, 33);
  EXPECT_THAT(main_stack("garbage\n  File \"x\", line y in z\n"), IsEmpty());
  EXPECT_THAT(main_stack("  File \"x\", line 3 in z\n"), IsEmpty());
}

TEST(RecorderDump, TellsOfEachGroup) {
  const auto groups = parse_recorder(R"({"pg_status": {"0": {"last_enqueued_collective": "6",
      "last_completed_collective": 5}}, "entries": [
      {"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 6, "profiling_name": "gloo:all_reduce",
       "input_sizes": [[8, 8]]}, 3]})");
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].name, "0");
  EXPECT_EQ(groups[0].enqueued, 6);
  EXPECT_EQ(groups[0].completed, 5);
  EXPECT_EQ(groups[0].operation, "all_reduce");
  EXPECT_THAT(parse_recorder("{"), IsEmpty());
  EXPECT_THAT(parse_recorder(R"({"pg_status": [], "entries": 3})"), IsEmpty());
}

TEST(BlockedInquiry, NamesTheRankThatDidNotEnter) {
  BlockedInquiry inquiry = three_ranks();
  inquiry.ranks[1].stack = main_stack(kListing);
  const Conclusion conclusion = conclude_blocked(inquiry, {});
  ASSERT_TRUE(conclusion.blocked);
  EXPECT_THAT(conclusion.blocked->missing, ElementsAre(1));
  EXPECT_THAT(conclusion.blocked->waiting, ElementsAre(0, 2));
  EXPECT_EQ(conclusion.blocked->sequence, 6);
  EXPECT_EQ(conclusion.blocked->operation, "all_reduce");
  EXPECT_THAT(conclusion.blocked->stacks.at(0), HasSubstr("train.py:33 in augment"));
  ASSERT_EQ(conclusion.diagnoses.size(), 1);
  const Diagnosis& diagnosis = conclusion.diagnoses[0];
  EXPECT_EQ(diagnosis.cause, "blocked.rank");
  EXPECT_THAT(diagnosis.ranks, ElementsAre(1));
  ASSERT_TRUE(diagnosis.function);
  EXPECT_EQ(diagnosis.function->name, "augment");
  EXPECT_EQ(diagnosis.function->line, 33);
  EXPECT_THAT(diagnosis.function->path, ElementsAre("<module>", "main"));
}

TEST(BlockedInquiry, DeadAndStoppedRanks) {
  BlockedInquiry inquiry = three_ranks();
  inquiry.ranks[1].process.letter = 'T';
  inquiry.ranks[1].recorder_known = false;
  inquiry.ranks[1].groups.clear();
  EXPECT_EQ(conclude_blocked(inquiry, {}).diagnoses.at(0).cause, "blocked.process_stopped");
  inquiry.ranks[1].process.letter = 'X';
  EXPECT_EQ(conclude_blocked(inquiry, {}).diagnoses.at(0).cause, "blocked.process_dead");
}

TEST(BlockedInquiry, AnotherOperationUnderTheSameNumber) {
  BlockedInquiry inquiry = three_ranks();
  inquiry.ranks[1] = rank_at(1, 6, 5, "broadcast");
  const Conclusion conclusion = conclude_blocked(inquiry, {});
  EXPECT_EQ(conclusion.diagnoses.at(0).cause, "blocked.mismatch");
  EXPECT_THAT(conclusion.diagnoses.at(0).ranks, ElementsAre(1));
  EXPECT_THAT(conclusion.blocked->waiting, ElementsAre(0, 2));
}

TEST(BlockedInquiry, GroupsThatWaitForEachOther) {
  BlockedInquiry inquiry;
  RankInquiry first = rank_at(0, 1, 0);
  RankInquiry second = rank_at(1, 0, 0);
  first.groups.push_back({"1", "", 0, 0, "all_reduce", ""});
  second.groups.push_back({"1", "", 1, 0, "all_reduce", ""});
  inquiry.ranks = {first, second};
  inquiry.groups = {{"0", "", {0, 1}}, {"1", "", {0, 1}}};
  EXPECT_EQ(conclude_blocked(inquiry, {}).diagnoses.at(0).cause, "blocked.deadlock");
}

TEST(BlockedInquiry, RanksThatEndedInOrderHoldNobodyUp) {
  BlockedInquiry inquiry = three_ranks();
  inquiry.ranks[0] = rank_at(0, 6, 6);  // writes the last checkpoint
  for (size_t i = 1; i < 3; ++i) {
    inquiry.ranks[i].left = true;
    inquiry.ranks[i].process.letter = 'X';
    inquiry.ranks[i].groups.clear();
  }
  EXPECT_THAT(conclude_blocked(inquiry, {}).diagnoses, IsEmpty());
  inquiry.ranks[2].process.exit_code = 1 << 8;
  EXPECT_THAT(conclude_blocked(inquiry, {}).diagnoses.at(0).ranks, ElementsAre(2));
}

TEST(BlockedInquiry, OnlyRanksThatAreKnownToLagAreBlamedWhereOthersAreElsewhere) {
  BlockedInquiry inquiry = three_ranks();
  inquiry.world_size = 6;
  inquiry.groups = {{"0", "default_pg", {0, 1, 2, 3, 4, 5}}};
  EXPECT_THAT(conclude_blocked(inquiry, {}).diagnoses.at(0).ranks, ElementsAre(1));

  inquiry.ranks[1] = rank_at(1, 6, 5);
  const Conclusion conclusion = conclude_blocked(inquiry, {});
  EXPECT_THAT(conclusion.diagnoses, IsEmpty());
  ASSERT_EQ(conclusion.hints.size(), 1);
  EXPECT_THAT(conclusion.hints[0].ranks, ElementsAre(3, 4, 5));
  EXPECT_LT(conclusion.hints[0].confidence, 0.5);
}

TEST(BlockedInquiry, OneOfManyThatNothingIsKnownOfIsMissing) {
  BlockedInquiry inquiry = three_ranks();
  inquiry.ranks.erase(inquiry.ranks.begin() + 1);
  const Conclusion conclusion = conclude_blocked(inquiry, {});
  EXPECT_THAT(conclusion.diagnoses.at(0).ranks, ElementsAre(1));
}

TEST(BlockedInquiry, NothingKnownIsNoClaim) {
  BlockedInquiry inquiry = three_ranks();
  for (RankInquiry& rank : inquiry.ranks) rank.groups.clear();
  const Conclusion conclusion = conclude_blocked(inquiry, {});
  EXPECT_THAT(conclusion.diagnoses, IsEmpty());
  EXPECT_FALSE(conclusion.notes.empty());
}

}  // namespace
}  // namespace eroica::testing
