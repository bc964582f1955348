#include "diagnose/waited_for.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Steps of 100 ms with two all-reduces each; rank 1 comes 15 ms later than others to each of them.
Conclusion conclusion() {
  Conclusion result;
  result.what_if.step_ms = 100;
  JoinedCollective one;
  one.by = AlignedBy::kIntervals;
  one.whole = true;
  one.joined = one.seen = 40;
  one.error_us = 200;
  for (int32_t rank = 0; rank < 4; ++rank) {
    one.members.push_back({.rank = rank, .per_step = 2, .late_us = rank == 1 ? 15'000.0 : 100.0});
  }
  result.joined.push_back(std::move(one));
  Diagnosis claim;
  claim.ranks = {1};
  result.diagnoses.push_back(std::move(claim));
  return result;
}

TEST(WaitedFor, ALateRankHasItAsEvidence) {
  Conclusion told = conclusion();
  tell_who_was_waited_for(told);
  ASSERT_THAT(told.diagnoses.front().evidence, SizeIs(1));
  const Evidence& evidence = told.diagnoses.front().evidence.front();
  EXPECT_NEAR(evidence.value, 30, 1e-9);
  EXPECT_NEAR(evidence.peers_median.value(), 0.2, 1e-9);
  EXPECT_EQ(evidence.unit, "ms");
  EXPECT_THAT(evidence.ranks, ElementsAre(1));
}

TEST(WaitedFor, WhoWaitsForHasNone) {
  Conclusion told = conclusion();
  told.diagnoses.front().ranks = {2};
  tell_who_was_waited_for(told);
  EXPECT_THAT(told.diagnoses.front().evidence, IsEmpty());
}

TEST(WaitedFor, NothingIsSaidOfWhatWasNotSurelyJoined) {
  const auto evidence_with = [](auto change) {
    Conclusion told = conclusion();
    change(told.joined.front());
    tell_who_was_waited_for(told);
    return told.diagnoses.front().evidence.size();
  };
  EXPECT_EQ(evidence_with([](JoinedCollective&) {}), 1u);
  EXPECT_EQ(evidence_with([](JoinedCollective& one) { one.joined = 5; }), 0u);
  EXPECT_EQ(evidence_with([](JoinedCollective& one) { one.whole = false; }), 0u);
  EXPECT_EQ(evidence_with([](JoinedCollective& one) { one.error_us = 20'000; }), 0u);
}

}  // namespace
}  // namespace eroica
