#include "compare/blocked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "compare/job.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kTrain = 1;
constexpr uint64_t kWait = 2;
constexpr uint64_t kSave = 3;

NameTable words() {
  NameTable names;
  names[kTrain] = {"train_step", "", "train.py", FunctionKind::kPython, {"train.py: main"}};
  names[kWait] = {"wait", "", "threading.py", FunctionKind::kPython, {"train.py: main", "store.py: get"}};
  names[kSave] = {"write", "", "io.py", FunctionKind::kPython, {"train.py: main", "train.py: save_checkpoint"}};
  return names;
}

/// Twenty steps of 100 ms, then nothing for `hang_ms`; ranks in one group.
struct Hang {
  int ranks = 4;
  int64_t hang_ms = 3000;
  int64_t longest_ms = 40;  ///< the group's longest collective before
  std::vector<RankPattern> patterns;

  RankPattern& add(int rank) {
    RankPattern& pattern = patterns.emplace_back();
    pattern.rank = rank;
    pattern.world_size = ranks;
    pattern.gpu_job = true;
    pattern.window_start_unix_ns = 1'790'000'000'000'000'000;
    pattern.window_ns = 2000 * kMs + hang_ms * kMs;
    pattern.step_source = StepSource::kSequence;
    for (int64_t i = 0; i < 20; ++i) pattern.steps.push_back({i, i * 100 * kMs, 100 * kMs});
    pattern.end.observed_ns = pattern.window_ns;
    pattern.end.last_event_ns = pattern.window_ns;
    pattern.end.quiet_ns = hang_ms * kMs;
    GroupPattern group{"0", "default_pg", {}, ranks};
    for (int32_t member = 0; member < ranks; ++member) group.ranks.push_back(member);
    pattern.groups.push_back(std::move(group));
    pattern.end.frame = kTrain;
    return pattern;
  }

  void wait(RankPattern& pattern, uint32_t group = 0, int64_t bytes = 1000, const std::string& kind = "all_reduce",
            bool unusual = false) const {
    pattern.end.open.push_back({kind, group, 41, 2000 * kMs, bytes, longest_ms * kMs, true, unusual});
  }

  [[nodiscard]] std::optional<BlockedJob> find() const {
    static const NameTable names = words();
    return find_blocked(build_job(patterns, names), names);
  }
};

Hang three_wait_for_rank_2() {
  Hang hang;
  for (int rank = 0; rank < 4; ++rank) {
    RankPattern& pattern = hang.add(rank);
    if (rank != 2) hang.wait(pattern);
  }
  return hang;
}

TEST(Blocked, TheMemberThatDidNotEnterIsMissing) {
  Hang hang = three_wait_for_rank_2();
  hang.patterns[2].end.frame = kWait;
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->waiting, ElementsAre(0, 1, 3));
  EXPECT_THAT(blocked->missing, ElementsAre(2));
  EXPECT_THAT(blocked->absence, ElementsAre(Absence::kElsewhere));
  EXPECT_EQ(blocked->sequence, 41);
  EXPECT_NEAR(blocked->waited_ms, 3000, 1);
  const NameTable names = words();
  const Job job = build_job(hang.patterns, names);
  EXPECT_THAT(final_stack(job, names, 2), HasSubstr("store.py: get > threading.py: wait"));
}

TEST(Blocked, AWindowCutInACollectiveIsNoHang) {
  for (const int64_t ms : {30, 90, 200, 450}) {
    Hang hang = three_wait_for_rank_2();
    hang.hang_ms = ms;
    for (RankPattern& pattern : hang.patterns) {
      pattern.window_ns = 2000 * kMs + ms * kMs;
      pattern.end.observed_ns = pattern.window_ns;
      pattern.end.last_event_ns = pattern.window_ns;
    }
    EXPECT_FALSE(hang.find()) << ms;
  }
}

TEST(Blocked, AWaitThatIsUsualForTheGroupIsNoHang) {
  Hang hang;
  hang.longest_ms = 1500;
  for (int rank = 0; rank < 4; ++rank) {
    RankPattern& pattern = hang.add(rank);
    if (rank != 2) hang.wait(pattern);
  }
  EXPECT_FALSE(hang.find());
}

TEST(Blocked, ALongStepInTheWindowMakesALongWaitUsual) {
  Hang hang = three_wait_for_rank_2();
  for (RankPattern& pattern : hang.patterns) {
    pattern.steps[3].duration_ns = 1600 * kMs;  // a checkpoint before
    pattern.steps[3].irregular = true;
  }
  EXPECT_FALSE(hang.find());
}

TEST(Blocked, SavingACheckpointIsNoHang) {
  Hang hang = three_wait_for_rank_2();
  hang.patterns[2].end.frame = kSave;
  EXPECT_FALSE(hang.find());
  Hang forever;
  forever.hang_ms = 90'000;
  for (int rank = 0; rank < 4; ++rank) {
    RankPattern& pattern = forever.add(rank);
    if (rank != 2) forever.wait(pattern);
  }
  forever.patterns[2].end.frame = kSave;
  EXPECT_TRUE(forever.find());
}

TEST(Blocked, SomebodyWhoCompletesStepsShowsThatTheJobGoesOn) {
  Hang hang = three_wait_for_rank_2();
  hang.patterns[2].end.quiet_ns = 0;
  for (int64_t i = 20; i < 50; ++i) hang.patterns[2].steps.push_back({i, i * 100 * kMs, 100 * kMs});
  EXPECT_FALSE(hang.find());
}

TEST(Blocked, WhoWaitsElsewhereIsAVictimToo) {
  // Ranks 0 and 1 wait for 2 in group "a"; rank 3 waits for rank 0 in group "b".
  Hang hang;
  for (int rank = 0; rank < 4; ++rank) {
    RankPattern& pattern = hang.add(rank);
    pattern.groups.clear();
    if (rank < 3) pattern.groups.push_back({"a", "", {0, 1, 2}, 3});
    if (rank == 0 || rank == 3) pattern.groups.push_back({"b", "", {0, 3}, 2});
    if (rank < 2) hang.wait(pattern, 0);
    if (rank == 3) hang.wait(pattern, 0);
  }
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, ElementsAre(2));
  EXPECT_THAT(blocked->waiting, ElementsAre(0, 1, 3));
  EXPECT_EQ(build_job(hang.patterns, words()).groups[blocked->group].name, "a");
}

TEST(Blocked, ATraceThatEndsEarlyTellsOfAProcessThatIsGoneOrStopped) {
  Hang hang = three_wait_for_rank_2();
  hang.patterns[2].end.last_event_ns = 1990 * kMs;
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, ElementsAre(2));
  EXPECT_THAT(blocked->absence, ElementsAre(Absence::kGoneOrStopped));
}

TEST(Blocked, SamplesTellDeadFromStopped) {
  Hang hang = three_wait_for_rank_2();
  for (RankPattern& pattern : hang.patterns) {
    pattern.end.cpu_run = 1.3;
    pattern.end.sampled_ns = pattern.end.observed_ns - 20 * kMs;
  }
  hang.patterns[2].end.last_event_ns = 1990 * kMs;
  hang.patterns[2].end.cpu_run = -1;
  hang.patterns[2].end.sampled_ns = 1980 * kMs;
  EXPECT_THAT(hang.find()->absence, ElementsAre(Absence::kGone));
  hang.patterns[2].end.cpu_run = 0;
  hang.patterns[2].end.sampled_ns = hang.patterns[0].end.sampled_ns;
  EXPECT_THAT(hang.find()->absence, ElementsAre(Absence::kStopped));
  hang.patterns[2].end.last_event_ns = hang.patterns[2].end.observed_ns;
  hang.patterns[2].end.cpu_run = 0.3;
  EXPECT_THAT(hang.find()->absence, ElementsAre(Absence::kElsewhere));
}

TEST(Blocked, TheFewerInAnotherCollectiveAreAMismatch) {
  Hang hang;
  for (int rank = 0; rank < 4; ++rank) hang.wait(hang.add(rank), 0, rank == 1 ? 500 : 1000);
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, ElementsAre(1));
  EXPECT_THAT(blocked->absence, ElementsAre(Absence::kMismatch));
  EXPECT_THAT(blocked->opposite, ElementsAre(0, 2, 3));
  EXPECT_THAT(blocked->waiting, ElementsAre(0, 2, 3));
}

TEST(Blocked, AHostWhoseClockIsBehindIsNotDead) {
  Hang hang;
  for (int rank = 0; rank < 4; ++rank) hang.wait(hang.add(rank), 0, rank == 1 ? 500 : 1000);
  for (RankPattern& pattern : hang.patterns) {
    pattern.host = pattern.rank < 2 ? "a" : "b";
    if (pattern.rank >= 2) pattern.window_start_unix_ns -= 3600 * 1000 * kMs;
  }
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, ElementsAre(1));
  EXPECT_THAT(blocked->absence, ElementsAre(Absence::kMismatch));
}

TEST(Blocked, OfTwoThatDifferTheUnusualOneIsOdd) {
  Hang hang;
  hang.ranks = 2;
  hang.wait(hang.add(0), 0, 1000);
  hang.wait(hang.add(1), 0, 1000, "all_gather", true);
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, ElementsAre(1));
}

TEST(Blocked, GroupsThatWaitForEachOtherAreADeadlock) {
  Hang hang;
  hang.ranks = 2;
  for (int rank = 0; rank < 2; ++rank) {
    RankPattern& pattern = hang.add(rank);
    pattern.groups.push_back({"other", "", {0, 1}, 2});
    hang.wait(pattern, rank == 0 ? 0 : 1);
  }
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, ElementsAre(0, 1));
  EXPECT_THAT(blocked->absence, ElementsAre(Absence::kCycle, Absence::kCycle));
}

TEST(Blocked, AMemberWithoutATraceIsNamed) {
  Hang hang;
  for (const int rank : {0, 1, 3}) hang.wait(hang.add(rank));
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, IsEmpty());
  EXPECT_THAT(blocked->untraced, ElementsAre(2));
}

TEST(Blocked, AMemberOfWhichThereAreOnlySamplesIsNamedAsOneWithoutATrace) {
  Hang hang = three_wait_for_rank_2();
  RankPattern only_samples;
  only_samples.rank = 2;
  only_samples.world_size = 4;
  hang.patterns[2] = only_samples;
  auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->untraced, ElementsAre(2));
  EXPECT_TRUE(blocked->missing.empty());

  // Where no list of members tells of it, the three that are known all wait, and none of them is to blame.
  for (RankPattern& pattern : hang.patterns) {
    for (GroupPattern& group : pattern.groups) group.ranks.clear();
  }
  blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->waiting, ElementsAre(0, 1, 3));
  EXPECT_TRUE(blocked->missing.empty());
}

TEST(Blocked, AllInTheSameCollectiveHaveNobodyToBlame) {
  Hang hang;
  for (int rank = 0; rank < 4; ++rank) hang.wait(hang.add(rank));
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, IsEmpty());
  EXPECT_THAT(blocked->waiting, ElementsAre(0, 1, 2, 3));
}

TEST(Blocked, TheOrderOfRanksDoesNotMatter) {
  Hang hang = three_wait_for_rank_2();
  std::reverse(hang.patterns.begin(), hang.patterns.end());
  const auto blocked = hang.find();
  ASSERT_TRUE(blocked);
  EXPECT_THAT(blocked->missing, ElementsAre(2));
  EXPECT_THAT(blocked->waiting, ElementsAre(0, 1, 3));
}

}  // namespace
}  // namespace eroica
