#include "diagnose/select.h"

#include <gtest/gtest.h>

#include "diagnose/sample_job.h"

namespace eroica {
namespace {

/// A compared job of four GPU ranks, and rules and matches to choose from.
class Select : public ::testing::Test {
 protected:
  Select()
      : names_(sample_names()), job_(build_job(even_job(true), names_)), now_(job_, names_), facts_(now_, nullptr) {}

  static Rule rule(const std::string& cause, TimeClass affects) {
    Rule rule;
    rule.cause = cause;
    rule.affects = {affects};
    return rule;
  }

  static Match match(const Rule& rule, std::vector<uint32_t> ranks, double confidence, double effect = 0.1) {
    Candidate candidate(&rule, Subject(std::move(ranks), 4));
    candidate.effect = effect;
    candidate.saved.assign(4, 0);
    for (const uint32_t rank : candidate.subject.ranks()) candidate.saved[rank] = effect;
    Match match(std::move(candidate));
    match.confidence = confidence;
    return match;
  }

  std::vector<Selected> chosen(std::vector<Match> matches) { return select(std::move(matches), facts_); }

  NameTable names_;
  Job job_;
  Comparison now_;
  Facts facts_;
};

TEST_F(Select, TheSurerOfTwoThatExplainTheSame) {
  const Rule a = rule("site.a", TimeClass::kCompute);
  const Rule b = rule("site.b", TimeClass::kCompute);
  const std::vector<Selected> kept = chosen({match(a, {2}, 0.6), match(b, {2}, 0.8)});
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].match.candidate.rule->cause, "site.b");
  ASSERT_EQ(kept[0].alternatives.size(), 1U);
  EXPECT_EQ(kept[0].alternatives[0].candidate.rule->cause, "site.a");
}

TEST_F(Select, WhatYieldsStandsBehindHoweverSure) {
  Rule a = rule("site.a", TimeClass::kCompute);
  a.yields_to = {"site.b"};
  const Rule b = rule("site.b", TimeClass::kCompute);
  const std::vector<Selected> kept = chosen({match(a, {2}, 0.9), match(b, {2}, 0.6)});
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].match.candidate.rule->cause, "site.b");
}

TEST_F(Select, ToWhatIsItselfUnlikelyNothingYields) {
  Rule a = rule("site.a", TimeClass::kCompute);
  a.yields_to = {"site.b"};
  const Rule b = rule("site.b", TimeClass::kCompute);
  const std::vector<Selected> kept = chosen({match(a, {2}, 0.9), match(b, {2}, 0.3)});
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].match.candidate.rule->cause, "site.a");
}

TEST_F(Select, OtherRanksOrOtherTimeStandBesideIt) {
  const Rule a = rule("site.a", TimeClass::kCompute);
  const Rule b = rule("site.b", TimeClass::kCompute);
  const Rule c = rule("site.c", TimeClass::kDataloader);
  EXPECT_EQ(chosen({match(a, {0}, 0.6), match(b, {2}, 0.8), match(c, {2}, 0.7)}).size(), 3U);
}

TEST_F(Select, NothingOfNothing) { EXPECT_TRUE(chosen({}).empty()); }

}  // namespace
}  // namespace eroica
