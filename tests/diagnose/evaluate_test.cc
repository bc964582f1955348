#include "diagnose/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/sample_job.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

Rule standard_rule(const std::string& cause) {
  const RuleSet set = standard_rules();
  return *std::ranges::find(set.rules, cause, &Rule::cause);
}

Evaluation evaluated(const std::string& cause, const std::vector<RankPattern>& patterns) {
  static std::vector<Rule> rules;  // what an evaluation refers to
  rules.clear();
  rules.push_back(standard_rule(cause));
  const NameTable names = sample_names();
  const Job job = build_job(patterns, names);
  const Comparison now(job, names);
  Facts facts(now, nullptr);
  return evaluate(rules.front(), facts);
}

TEST(Evaluate, AMatchCarriesItsEvidence) {
  const Evaluation evaluation = evaluated("gpu.thermal_throttle", hot_job(true, true));
  ASSERT_EQ(evaluation.matches.size(), 1U);
  const Match& match = evaluation.matches.front();
  EXPECT_EQ(match.candidate.subject.ranks(), std::vector<uint32_t>{2});
  EXPECT_NEAR(match.candidate.effect, 0.15, 0.02);
  EXPECT_GT(match.confidence, 0.5);
  for (const Finding& finding : match.findings) {
    if (finding.evidence->need == Need::kRequired) {
      EXPECT_EQ(finding.verdict, Judgement::kHolds);
      ASSERT_TRUE(finding.seen.has_value());
      EXPECT_NEAR(finding.seen->value, 0.6, 1e-6);
      EXPECT_THAT(in_words(finding), HasSubstr("gpu.throttle_thermal"));
    }
  }
}

TEST(Evaluate, SaysWhichSignalWouldDecide) {
  std::vector<RankPattern> patterns = even_job(true);
  patterns[2] = sample_rank(2, 75, 1, true);
  const Evaluation evaluation = evaluated("gpu.thermal_throttle", patterns);
  EXPECT_TRUE(evaluation.matches.empty());
  ASSERT_TRUE(evaluation.rejection.has_value());
  EXPECT_TRUE(evaluation.rejection->signal_missing);
  EXPECT_EQ(evaluation.rejection->metric, "gpu.throttle_thermal");
}

TEST(Evaluate, WhatSpeaksForItMakesItSurer) {
  std::vector<RankPattern> bare = hot_job(true, true);
  for (RankPattern& pattern : bare) {
    std::erase_if(pattern.signals, [](const SignalUse& use) { return use.metric != "gpu.throttle_thermal"; });
  }
  const Evaluation little = evaluated("gpu.thermal_throttle", bare);
  ASSERT_EQ(little.matches.size(), 1U);
  const double confidence = little.matches.front().confidence;
  const Evaluation much = evaluated("gpu.thermal_throttle", hot_job(true, true));
  ASSERT_EQ(much.matches.size(), 1U);
  EXPECT_GT(much.matches.front().confidence, confidence);
}

}  // namespace
}  // namespace eroica
