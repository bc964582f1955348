#include "agent/rank_exits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "agent/end_watch.h"

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kMs = 1'000'000;

RankExit killed(int32_t rank, int signal, int64_t at_ms = 0) {
  RankExit end;
  end.rank = rank;
  end.pid = 100 + rank;
  end.unix_ns = at_ms * kMs;
  end.last_step = 41;
  end.has_ended = true;
  end.wait_status = signal;
  return end;
}

RankExit raised(int32_t rank, const std::string& exception, const std::string& file, int64_t at_ms) {
  RankExit end = killed(rank, 0, at_ms);
  end.said_bye = true;
  end.wait_status = 1 << 8;
  end.exception = exception;
  end.file = file;
  end.line = 12;
  return end;
}

constexpr const char* kTorch = "/usr/lib/python3/site-packages/torch/autograd/graph.py";

TEST(RankExits, TheFirstToEndIsToBlame) {
  RankExits ends;
  ends.world_size = 4;
  ends.ends = {killed(2, SIGKILL, 0), raised(0, "RuntimeError", kTorch, 30), killed(1, SIGTERM, 90)};
  ends.going_on = {3};
  const Conclusion conclusion = conclude_ended(ends, {});
  ASSERT_EQ(conclusion.diagnoses.size(), 1);
  const Diagnosis& diagnosis = conclusion.diagnoses[0];
  EXPECT_EQ(diagnosis.cause, "blocked.process_dead");
  EXPECT_THAT(diagnosis.ranks, ElementsAre(2));
  EXPECT_THAT(conclusion.victims, ElementsAre(0, 1, 3));
  EXPECT_EQ(diagnosis.summary,
            "Rank 2 was killed by signal 9 (SIGKILL) after step 41, before any other rank ended. What followed: rank 0 "
            "ended with RuntimeError at torch/autograd/graph.py:12, rank 1 was killed by signal 15 (SIGTERM).");
  EXPECT_EQ(diagnosis.confidence, 0.95);
}

TEST(RankExits, WantOfMemoryIsToldWhereTheKernelCountsIt) {
  RankExits ends;
  ends.ends = {killed(0, SIGKILL, 0), killed(1, SIGTERM, 90)};
  EXPECT_THAT(conclude_ended(ends, {}).diagnoses.at(0).summary, Not(HasSubstr("memory")));
  ends.oom_kills = 1;
  EXPECT_THAT(conclude_ended(ends, {}).diagnoses.at(0).summary, HasSubstr("for want of memory"));
  ends.ends[0].wait_status = SIGSEGV;
  EXPECT_THAT(conclude_ended(ends, {}).diagnoses.at(0).summary, Not(HasSubstr("memory")));
}

TEST(RankExits, AnExceptionIsNamedWithItsPlace) {
  RankExits ends;
  ends.ends = {raised(1, "ValueError", "/home/ann/train.py", 0), killed(0, SIGTERM, 1)};
  const Diagnosis diagnosis = conclude_ended(ends, {}).diagnoses.at(0);
  EXPECT_THAT(diagnosis.ranks, ElementsAre(1));
  ASSERT_TRUE(diagnosis.function);
  EXPECT_EQ(diagnosis.function->name, "ValueError");
  EXPECT_EQ(diagnosis.function->line, 12);
}

TEST(RankExits, OneMistakeOfSeveralRanksIsToldOnce) {
  RankExits ends;
  ends.ends = {raised(3, "ValueError", "train.py", 0), raised(1, "ValueError", "train.py", 1), killed(0, SIGTERM, 9)};
  ends.ends[1].wait_status.reset();  // its process has not ended yet
  EXPECT_THAT(first_to_end(ends), ElementsAre(1, 3));
  ends.ends.pop_back();
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "the program's own end";
}

TEST(RankExits, WhatIsNobodysFaultIsNotTold) {
  RankExits ends;
  EXPECT_THAT(first_to_end(ends), IsEmpty());
  RankExit done = killed(0, 0);
  done.said_bye = true;
  ends.ends = {done, raised(1, "RuntimeError", kTorch, 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "the first ended in order";
  ends.ends = {killed(1, SIGTERM, 0), killed(0, SIGKILL, 30'000)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "somebody asked for it";
  RankExit unknown = killed(1, 0);
  unknown.wait_status.reset();
  ends.ends = {unknown, killed(0, SIGTERM, 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "perhaps by the same signal as the other";
  ends.ends = {raised(1, "KeyboardInterrupt", kTorch, 0), raised(0, "RuntimeError", kTorch, 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "Ctrl-C";
  ends.ends = {raised(1, "SystemExit", "train.py", 0), raised(0, "SystemExit", "train.py", 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "all alike";
  ends.ends = {raised(1, "RuntimeError", kTorch, 0), killed(0, SIGTERM, 5)};
  ends.world_size = 2;
  EXPECT_THAT(first_to_end(ends), ElementsAre(1));
  ends.world_size = 16;
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "it may be what another host did to it";
}

RankExit unknown(int32_t rank, int64_t at_ms) {
  RankExit end = killed(rank, 0, at_ms);
  end.wait_status.reset();
  return end;
}

RankExit exited(int32_t rank, int status, int64_t at_ms) { return killed(rank, status << 8, at_ms); }

TEST(RankExits, AnEndWhoseStatusNobodyReadAccusesNobodyByItself) {
  RankExits ends;
  ends.ends = {unknown(0, 0), exited(1, 0, 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "both may have ended in order";
  ends.ends = {unknown(0, 0), killed(1, SIGKILL, 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "perhaps both by the same signal";
  ends.going_on = {2};
  ends.ends = {unknown(0, 0), exited(1, 0, 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty());
  ends.world_size = 3;
  ends.going_on.clear();
  ends.ends = {unknown(2, 0), raised(0, "RuntimeError", kTorch, 5), raised(1, "RuntimeError", kTorch, 6)};
  EXPECT_THAT(first_to_end(ends), ElementsAre(2)) << "its peers felt it";
}

TEST(RankExits, AStatusThatAHandlerOfSignalsChoseIsAsAsked) {
  RankExits ends;
  ends.world_size = 2;
  ends.going_on = {0};
  ends.ends = {exited(1, 128 + SIGTERM, 0)};
  EXPECT_THAT(first_to_end(ends), IsEmpty());
  ends.ends = {exited(1, 1, 0)};
  EXPECT_THAT(first_to_end(ends), ElementsAre(1));
}

TEST(RankExits, AnExitThatTheProgramChoseIsToldWhereItLeftOthersBehind) {
  RankExits ends;
  ends.world_size = 2;
  ends.ends = {exited(1, 1, 0)};
  ends.ends[0].said_bye = true;
  ends.going_on = {0};
  EXPECT_THAT(first_to_end(ends), ElementsAre(1));
  ends.going_on.clear();
  ends.ends.push_back(killed(0, SIGTERM, 9));
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "perhaps all were about to";
  ends.ends[1] = raised(0, "RuntimeError", kTorch, 9);
  EXPECT_THAT(first_to_end(ends), ElementsAre(1));
  ends.ends[0].wait_status = 0;
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "in order";
}

TEST(RankExits, OfEndsThatWereNoticedTogetherTheOneThatTellsIsTheFirst) {
  RankExits ends;
  ends.world_size = 3;
  ends.ends = {killed(0, SIGTERM, 7), killed(1, SIGKILL, 7), killed(2, SIGTERM, 7)};
  const Conclusion conclusion = conclude_ended(ends, {});
  ASSERT_EQ(conclusion.diagnoses.size(), 1);
  EXPECT_THAT(conclusion.diagnoses[0].ranks, ElementsAre(1));
  EXPECT_EQ(conclusion.diagnoses[0].confidence, 0.8) << "their order is not known";
  ends.ends[1].unix_ns += kMs;
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "somebody asked for it first";
}

TEST(RankExits, WhoEndedLongBeforeIsCountedAndHidesNobody) {
  RankExits ends;
  ends.world_size = 3;
  ends.ended_before = {0};
  ends.ends = {killed(2, SIGKILL, 0), raised(1, "RuntimeError", "/home/ann/train.py", 30)};
  const Conclusion conclusion = conclude_ended(ends, {});
  ASSERT_EQ(conclusion.diagnoses.size(), 1);
  EXPECT_THAT(conclusion.diagnoses[0].ranks, ElementsAre(2));
  EXPECT_THAT(conclusion.victims, ElementsAre(1));
  EXPECT_THAT(conclusion.diagnoses[0].summary, HasSubstr("the first of those that were still training"));
  ends.ends.erase(ends.ends.begin());
  ends.ends[0].file = kTorch;
  ends.world_size = 2;
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "it may have waited for the one that had gone";
}

TEST(RankExits, APeersComplaintThatIsHeardFirstIsNoCause) {
  RankExits ends;
  ends.world_size = 3;
  ends.ends = {raised(0, "RuntimeError", kTorch, 0), killed(2, SIGKILL, 3), killed(1, SIGABRT, 9)};
  const Conclusion conclusion = conclude_ended(ends, {});
  ASSERT_EQ(conclusion.diagnoses.size(), 1);
  EXPECT_THAT(conclusion.diagnoses[0].ranks, ElementsAre(2));
  EXPECT_THAT(conclusion.diagnoses[0].summary, HasSubstr("Rank 2 was killed by signal 9"));
}

TEST(RankExits, WhatAnotherHostMayHaveDoneIsNotTold) {
  RankExits ends;
  ends.world_size = 16;
  ends.ends = {killed(1, SIGABRT, 0), killed(0, SIGTERM, 5)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "the watchdog of collectives";
  ends.ends = {raised(1, "RuntimeError", "/home/ann/train.py", 0)};
  EXPECT_THAT(first_to_end(ends), IsEmpty()) << "a collective that the program called";
  ends.going_on = {0};
  ends.ends = {raised(1, "ValueError", "/home/ann/train.py", 0)};
  EXPECT_THAT(first_to_end(ends), ElementsAre(1));
}

TEST(RankExits, ThoseThatDieAlikeAreNamedTogether) {
  RankExits ends;
  ends.ends = {killed(1, SIGKILL, 0), killed(0, SIGKILL, 1)};
  EXPECT_THAT(first_to_end(ends), ElementsAre(0, 1));
  ends.going_on = {2};
  EXPECT_THAT(first_to_end(ends), ElementsAre(1));
}

LiveRank child(int32_t rank, pid_t pid) {
  LiveRank live;
  live.hello.rank = rank;
  live.pid = pid;
  return live;
}

pid_t sleeper() {
  const pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  return pid;
}

// Whether or not somebody has waited for the process: its parent may be quicker than we.
TEST(EndWatch, TellsHowAProcessEndedThatIsNoChild) {
  RankTable ranks;
  EndWatch watch;
  const pid_t killed = sleeper();
  const pid_t other = sleeper();
  watch.joined(child(0, killed));
  watch.joined(child(1, other));
  watch.each_second();
  if (watch.fd() < 0) GTEST_SKIP() << "this kernel does not tell of ends";
  EXPECT_THAT(watch.take(ranks, 0), IsEmpty());
  ASSERT_EQ(kill(killed, SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(killed), &info, WEXITED | WNOWAIT), 0);  // it stays a zombie
  const auto ended = watch.take(ranks, 7);
  ASSERT_EQ(ended.size(), 1);
  EXPECT_EQ(ended[0].pid, killed);
  EXPECT_EQ(ended[0].wait_status, SIGKILL);
  EXPECT_FALSE(watch.to_tell(ranks, false, 8)) << "others may follow";
  const auto told = watch.to_tell(ranks, true, 8);
  ASSERT_TRUE(told);
  EXPECT_THAT(told->going_on, ElementsAre(1));
  EXPECT_THAT(first_to_end(*told), ElementsAre(0));
  EXPECT_EQ(told->ends.at(0).unix_ns, 7);
  EXPECT_FALSE(watch.to_tell(ranks, true, 9)) << "once";
  kill(other, SIGKILL);
  waitpid(killed, nullptr, 0);
  waitpid(other, nullptr, 0);
}

constexpr int64_t kSecond = 1000 * kMs;
constexpr pid_t kNobody = 99'999'990;  // beyond what the kernel numbers: it cannot be listened to

ProcessState zombie(int status) {
  ProcessState state;
  state.letter = 'Z';
  state.exit_code = status;
  return state;
}

TEST(EndWatch, WhereEndsAreNotHeardOfTheProcessTellsHowItEnded) {
  RankTable ranks;
  EndWatch watch;
  const LiveRank first = child(0, kNobody);
  const LiveRank second = child(1, kNobody + 1);
  watch.joined(first);
  watch.joined(second);
  EXPECT_FALSE(watch.hears(first));
  watch.gone(second, zombie(SIGKILL), 1 * kSecond);
  watch.gone(second, ProcessState(), 2 * kSecond);  // its parent has waited for it
  watch.gone(first, zombie(SIGTERM), 2 * kSecond);
  const auto told = watch.to_tell(ranks, false, 2 * kSecond);
  ASSERT_TRUE(told) << "all have ended";
  ASSERT_EQ(told->ends.size(), 2);
  EXPECT_EQ(told->ends[0].rank, 1);
  EXPECT_EQ(told->ends[0].unix_ns, 1 * kSecond) << "when it was first seen";
  EXPECT_EQ(told->ends[0].wait_status, SIGKILL);
  EXPECT_THAT(first_to_end(*told), ElementsAre(1));
}

TEST(EndWatch, AnOrderlyEndLongBeforeKeepsNoLaterOneFromBeingTold) {
  RankTable ranks;
  EndWatch watch;
  const LiveRank early = child(0, kNobody);
  const LiveRank killed = child(1, kNobody + 1);
  const LiveRank other = child(2, kNobody + 2);
  for (const LiveRank& rank : {early, killed, other}) watch.joined(rank);
  watch.said_bye(early, {}, 0);
  watch.gone(early, zombie(0), 0);
  EXPECT_FALSE(watch.to_tell(ranks, false, 20 * kSecond));
  watch.gone(killed, zombie(SIGKILL), 60 * kSecond);
  EXPECT_FALSE(watch.to_tell(ranks, false, 61 * kSecond)) << "others may follow";
  const auto told = watch.to_tell(ranks, false, 66 * kSecond);
  ASSERT_TRUE(told);
  EXPECT_THAT(first_to_end(*told), ElementsAre(1));
  EXPECT_THAT(told->ended_before, ElementsAre(0));
  EXPECT_THAT(told->going_on, ElementsAre(2));
}

TEST(EndWatch, AnEndThatAccusesNobodyDoesNotUseUpWhatIsToBeTold) {
  RankTable ranks;
  EndWatch watch;
  const LiveRank unknown = child(0, kNobody);
  const LiveRank killed = child(1, kNobody + 1);
  const LiveRank other = child(2, kNobody + 2);
  for (const LiveRank& rank : {unknown, killed, other}) watch.joined(rank);
  watch.gone(unknown, zombie(SIGTERM), 0);
  EXPECT_FALSE(watch.to_tell(ranks, false, 6 * kSecond)) << "somebody asked for it";
  watch.gone(killed, zombie(SIGSEGV), 30 * kSecond);
  const auto told = watch.to_tell(ranks, false, 36 * kSecond);
  ASSERT_TRUE(told);
  EXPECT_THAT(first_to_end(*told), ElementsAre(1));
}

TEST(EndWatch, AChildOfMultiprocessingTellsItsStatusWhereTheKernelDoesNot) {
  RankTable ranks;
  EndWatch watch;
  const LiveRank left = child(0, kNobody);
  const LiveRank other = child(1, kNobody + 1);
  watch.joined(left);
  watch.joined(other);
  ByeMessage bye;
  bye.status = 1;
  watch.said_bye(left, bye, 0);
  watch.gone(left, ProcessState(), kSecond);
  const auto told = watch.to_tell(ranks, false, 6 * kSecond);
  ASSERT_TRUE(told);
  EXPECT_EQ(in_words(told->ends.at(0)), "exited with status 1");
  EXPECT_THAT(first_to_end(*told), ElementsAre(0));
}

}  // namespace
}  // namespace eroica::testing
