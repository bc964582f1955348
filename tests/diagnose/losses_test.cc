#include "diagnose/losses.h"

#include <gtest/gtest.h>

#include "diagnose/sample_job.h"

namespace eroica {
namespace {

/// Claims about a job of four ranks of which rank 1 spends 20 of 100 ms more than its peers.
class Losses : public ::testing::Test {
 protected:
  Losses() : names_(sample_names()), job_(build_job(slow_function_job(), names_)), now_(job_, names_) {
    compute_.affects = {TimeClass::kCompute};
    data_.affects = {TimeClass::kDataloader};
  }

  Selected claim(uint32_t rank, double saved, double confidence) { return claim(compute_, rank, saved, confidence); }
  static Selected claim(const Rule& rule, uint32_t rank, double saved, double confidence) {
    Candidate candidate(&rule, Subject({rank}, 4));
    candidate.saved.assign(4, 0);
    candidate.saved[rank] = saved;
    Match match(std::move(candidate));
    match.confidence = confidence;
    return {std::move(match), {}};
  }

  double lost(const std::vector<Selected>& claims, const Selected& claim) const {
    return lost_ms(now_, claims, claim, now_.model.lost_ms(saved_together(job_, claims)));
  }

  Rule compute_;
  Rule data_;
  NameTable names_;
  Job job_;
  Comparison now_;
};

TEST_F(Losses, AreWhatIsGainedBesideTheOthers) {
  const std::vector<Selected> claims = {claim(1, 0.2, 0.8)};
  EXPECT_NEAR(lost(claims, claims[0]), 20, 1);
}

TEST_F(Losses, OfTwoThatExplainTheSameTheSurerStays) {
  std::vector<Selected> claims = {claim(1, 0.2, 0.6), claim(1, 0.2, 0.8)};
  std::vector<Selected> hints;
  doubt_costless(now_, claims, hints);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].match.confidence, 0.8);
  EXPECT_NEAR(lost(claims, claims[0]), 20, 1);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_LT(hints[0].match.confidence, kClaimConfidence);
  EXPECT_FALSE(hints[0].match.why.empty());
}

TEST_F(Losses, OfDifferentTimeAddUp) {
  std::vector<Selected> claims = {claim(compute_, 1, 0.1, 0.6), claim(data_, 1, 0.1, 0.8)};
  EXPECT_NEAR(lost(claims, claims[0]), 10, 1);
  EXPECT_NEAR(lost(claims, claims[1]), 10, 1);
  std::vector<Selected> hints;
  doubt_costless(now_, claims, hints);
  EXPECT_EQ(claims.size(), 2U);
}

TEST_F(Losses, WhatOnlyWaitsForTheCulpritIsAHint) {
  std::vector<Selected> claims = {claim(0, 0.1, 0.9), claim(1, 0.2, 0.6)};
  std::vector<Selected> hints;
  doubt_costless(now_, claims, hints);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].match.candidate.subject.ranks(), std::vector<uint32_t>{1});
}

TEST_F(Losses, AClaimAloneStays) {
  std::vector<Selected> claims = {claim(0, 0.0, 0.6)};
  std::vector<Selected> hints;
  doubt_costless(now_, claims, hints);
  EXPECT_EQ(claims.size(), 1U);
  EXPECT_TRUE(hints.empty());
}

}  // namespace
}  // namespace eroica
