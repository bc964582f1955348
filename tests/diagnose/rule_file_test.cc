#include "diagnose/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "diagnose/nearest_word.h"
#include "diagnose/rule_words.h"
#include "diagnose/standard_rules.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kEvidence =
    "[[rule.evidence]]\nneed = \"required\"\nfact = \"gpu.throttle_thermal\"\nabove = 0.05\n";

std::string rule_text(const std::string& lines, const std::string& evidence = kEvidence) {
  return "[[rule]]\ncause = \"site.fan\"\ntitle = \"T\"\nsay = \"S\"\naction = \"A\"\n" + lines + "\n" + evidence;
}

std::string problem_of(const std::string& text) {
  const RuleSet set = parse_rules(text, "site.toml");
  if (set.problems.size() != 1) return "problems: " + std::to_string(set.problems.size());
  EXPECT_THAT(set.rules, IsEmpty());
  EXPECT_EQ(set.problems[0].file, "site.toml");
  return std::to_string(set.problems[0].line) + ": " + set.problems[0].message;
}

std::string read_source(const std::string& path) {
  std::ifstream file(std::string(EROICA_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(RuleFile, EveryKeyIsRead) {
  const RuleSet set = parse_rules(R"(
[[rule]]
cause = "site.fan"
title = "Fan is off"
subject = "signal"
also_all = true
scope = "host"
component = "gpu"
affects = ["compute", "idle"]
kernels = ["gemm"]
yields_to = ["gpu.power_brake"]
prior = 0.6
least_effect = 0.05
say = """The fan of {component} is off:
  {lost}."""
action = "Call {nobody}"
explain = "E"
[[rule.evidence]]
need = "any"
fact = "gpu.temperature"
statistic = "maximum"
entity = "gpu"
above = 85
above_peers_ratio = 1.2
weight = 2
says = "hot"
[[rule.evidence]]
need = "contradicts"
fact = "function.share"
function = "^fan"
below = 0.5
)",
                                  "site.toml");
  EXPECT_THAT(set.problems, IsEmpty());
  ASSERT_THAT(set.rules, SizeIs(1));
  const Rule& rule = set.rules[0];
  EXPECT_EQ(rule.cause, "site.fan");
  EXPECT_EQ(rule.subject, SubjectBy::kSignal);
  EXPECT_TRUE(rule.also_all);
  EXPECT_EQ(rule.scope, Scope::kHost);
  EXPECT_EQ(rule.component, "gpu");
  EXPECT_THAT(rule.affects, ElementsAre(TimeClass::kCompute, TimeClass::kIdle));
  EXPECT_THAT(rule.kernels, ElementsAre("gemm"));
  EXPECT_THAT(rule.yields_to, ElementsAre("gpu.power_brake"));
  EXPECT_DOUBLE_EQ(rule.prior, 0.6);
  EXPECT_DOUBLE_EQ(rule.least_effect, 0.05);
  EXPECT_EQ(rule.say, "The fan of {component} is off: {lost}.");
  EXPECT_EQ(rule.file, "site.toml");
  EXPECT_EQ(rule.line, 2);
  ASSERT_THAT(rule.evidence, SizeIs(2));
  EXPECT_EQ(rule.evidence[0].need, Need::kAny);
  EXPECT_EQ(rule.evidence[0].statistic, Statistic::kMaximum);
  EXPECT_EQ(rule.evidence[0].bounds.above, 85);
  EXPECT_EQ(rule.evidence[0].bounds.above_peers_ratio, 1.2);
  EXPECT_FALSE(rule.evidence[0].bounds.below.has_value());
  EXPECT_DOUBLE_EQ(rule.evidence[0].weight, 2);
  EXPECT_EQ(rule.evidence[1].function, "^fan");
  EXPECT_EQ(evidence_in_words(rule.evidence[0]),
            "maximum of gpu.temperature of the gpu above 85 celsius and at least 1.2 times the peers'");
}

TEST(RuleFile, ProblemsNameLineAndRemedy) {
  EXPECT_EQ(problem_of(rule_text("titel = \"x\"")), "6: unknown key 'titel'; did you mean 'title'? (in [[rule]])");
  EXPECT_EQ(problem_of(rule_text("prior = \"high\"")), "6: 'prior' must be a number");
  EXPECT_EQ(problem_of(rule_text("prior = 1.5")), "6: 'prior' is 1.5; it must lie between 0 and 1");
  EXPECT_EQ(problem_of(rule_text("prior = nan")), "6: 'prior' is nan; it must lie between 0 and 1");
  EXPECT_EQ(problem_of(rule_text("also_all = 1")), "6: 'also_all' must be true or false");
  EXPECT_EQ(problem_of(rule_text("affects = \"compute\"")), "6: 'affects' must be a list of texts");
  EXPECT_EQ(problem_of(rule_text("affects = [\"comput\"]")),
            "6: unknown class of time 'comput'; did you mean 'compute'?");
  EXPECT_EQ(problem_of(rule_text("kernels = [\"gem\"]")), "6: unknown class of kernels 'gem'; did you mean 'gemm'?");
  EXPECT_EQ(problem_of(rule_text("subject = \"signals\"")), "6: unknown subject 'signals'; did you mean 'signal'?");
  EXPECT_EQ(problem_of(rule_text("scope = \"rack\"")), "6: unknown scope 'rack'; did you mean 'ranks'?");
  EXPECT_EQ(problem_of(rule_text("component = \"gpus\"")), "6: unknown component 'gpus'; did you mean 'gpu'?");
  EXPECT_EQ(problem_of(rule_text("yields_to = [\"gpu.power_cup\"]")),
            "6: unknown cause 'gpu.power_cup'; did you mean 'gpu.power_cap'?");
  EXPECT_EQ(problem_of(rule_text("yields_to = [\"site.fan\"]")), "6: a rule cannot yield to itself");
  EXPECT_EQ(problem_of(rule_text("subject = \"function\"")),
            "6: subject \"function\" wants a fact of functions that is required, or one of any");
}

TEST(RuleFile, ProblemsOfEvidence) {
  const auto with = [](const std::string& evidence) {
    return problem_of(rule_text("", "[[rule.evidence]]\nneed = \"required\"\n" + evidence));
  };
  EXPECT_EQ(with("fact = \"gpu.sm_clok\"\nabove = 1"),
            "9: unknown fact or signal 'gpu.sm_clok'; did you mean 'gpu.sm_clock'?");
  EXPECT_THAT(with("above = 1"), HasSubstr("7: 'fact' is missing"));
  EXPECT_THAT(with("fact = \"gpu.power\""), HasSubstr("9: no bound"));
  EXPECT_EQ(with("fact = \"gpu.power\"\nabove = 1\nentity = \"nic\""),
            "11: gpu.power has no 'nic' as its entity, but: gpu");
  EXPECT_EQ(with("fact = \"time.excess_ms\"\nabove = 1\nstatistic = \"maximum\""),
            "11: 'statistic' is for signals only, not for time.excess_ms");
  EXPECT_THAT(with("fact = \"function.share\"\nabove = 1\nfunction = \"a(b\""),
              HasSubstr("11: 'function' is no regular expression: "));
  EXPECT_EQ(with("fact = \"function.share\"\nabove = 1\nfunction = \"" + std::string(201, 'a') + "\""),
            "11: 'function' is longer than 200 bytes");
  EXPECT_THAT(with("fact = \"function.share\"\nabove = 1"), HasSubstr("9: function.share needs 'function'"));
  EXPECT_EQ(with("fact = \"gpu.power\"\nabove = 1\nfunction = \"a\""), "11: 'function' selects nothing of gpu.power");
  EXPECT_EQ(with("fact = \"gpu.power\"\nabove = 1\nweight = 4"), "11: 'weight' is 4; it must lie between 0 and 3");
  EXPECT_EQ(with("fact = \"gpu.power\"\nabove = 2\nbelow = 1"), "10: no value is above 'above' and below 'below'");
  EXPECT_THAT(with("fact = \"gpu.power\"\nabove = inf"), HasSubstr("10: 'above' is inf"));
  EXPECT_THAT(with("fact = \"gpu.power\"\nabove_peer = 2\nabove = 1"), HasSubstr("did you mean 'above_peers'?"));
}

TEST(RuleFile, ARuleNeedsWhatMakesItHold) {
  EXPECT_THAT(problem_of(rule_text("", "")), HasSubstr("no evidence with need"));
  EXPECT_THAT(problem_of(rule_text("", "[[rule.evidence]]\nneed = \"supports\"\nfact = \"gpu.power\"\nabove = 1\n")),
              HasSubstr("no evidence with need"));
  EXPECT_THAT(problem_of("[[rule]]\ncause = \"site.a\"\ntitle = \"T\"\nsay = \"S\"\n" + std::string(kEvidence)),
              HasSubstr("1: 'action' is missing"));
}

TEST(RuleFile, Placeholders) {
  const auto saying = [](const std::string& say) {
    return "[[rule]]\ncause = \"site.a\"\ntitle = \"T\"\nsay = \"" + say + "\"\naction = \"A\"\n" + kEvidence;
  };
  EXPECT_THAT(parse_rules(saying("{ranks} {hosts} {component} {value} {peers} {function} {lost}"), "f").problems,
              IsEmpty());
  EXPECT_EQ(problem_of(saying("{rank}")), "4: unknown placeholder 'rank'; did you mean 'ranks'?");
  EXPECT_THAT(problem_of(saying("{ranks")), HasSubstr("a brace in 'say'"));
  EXPECT_THAT(problem_of(saying("ranks}")), HasSubstr("a brace in 'say'"));
}

TEST(RuleFile, Causes) {
  const auto named = [](const std::string& cause) {
    return "[[rule]]\ncause = \"" + cause + "\"\ntitle = \"T\"\nsay = \"S\"\naction = \"A\"\n" + kEvidence;
  };
  EXPECT_THAT(problem_of(named("gpu.hot")), HasSubstr("2: unknown cause 'gpu.hot'"));
  EXPECT_THAT(problem_of(named("site.Fan")), HasSubstr("after 'site.' come a-z"));
  EXPECT_THAT(problem_of(named("clock.drift")), HasSubstr("unknown cause"));  // never claimed
  const RuleSet twice = parse_rules(named("site.a") + named("site.a"), "f");
  ASSERT_THAT(twice.problems, SizeIs(1));
  EXPECT_EQ(twice.problems[0].message, "a second rule for site.a in one file");
  EXPECT_EQ(twice.problems[0].line, 10);
  EXPECT_THAT(twice.rules, SizeIs(1));
}

TEST(RuleFile, FilesThatAreNoRules) {
  EXPECT_THAT(problem_of(""), HasSubstr("no [[rule]] in this file"));
  EXPECT_THAT(problem_of("rule = 1"), HasSubstr("must be written as [[rule]]"));
  EXPECT_THAT(problem_of("[[rule]]\ncause = "), HasSubstr("2: no valid TOML"));
  EXPECT_THAT(problem_of("[[=rule]]"), HasSubstr("1: no valid TOML"));  // an assertion of toml++
  EXPECT_THAT(problem_of("a = t\n"), HasSubstr("saw 't?"));             // messages stay on one line
  EXPECT_THAT(problem_of("\xff\xfe"), HasSubstr("no valid TOML"));
  EXPECT_THAT(problem_of(std::string((1 << 20) + 1, ' ')), HasSubstr("larger than 1 MiB"));
  EXPECT_THAT(problem_of(std::string(100000, '[')), HasSubstr("no valid TOML"));
}

TEST(RuleFile, GoodRulesSurviveBadOnes) {
  std::string good = rule_text("");
  good.replace(good.find("site.fan"), 8, "site.air");
  const RuleSet set = parse_rules(rule_text("prior = 7") + good, "f");
  EXPECT_THAT(set.problems, SizeIs(1));
  ASSERT_THAT(set.rules, SizeIs(1));
  EXPECT_EQ(set.rules[0].cause, "site.air");
}

TEST(RuleFile, LaterFilesReplace) {
  RuleSet set = standard_rules();
  const size_t before = set.rules.size();
  std::string own = rule_text("prior = 0.1");
  own.replace(own.find("site.fan"), 8, "gpu.shared");
  merge_rules(set, parse_rules(own, "own.toml"));
  merge_rules(set, parse_rules(rule_text(""), "own.toml"));
  EXPECT_EQ(set.rules.size(), before + 1);
  const auto at =
      std::find_if(set.rules.begin(), set.rules.end(), [](const Rule& r) { return r.cause == "gpu.shared"; });
  ASSERT_NE(at, set.rules.end());
  EXPECT_EQ(at->file, "own.toml");
  EXPECT_TRUE(std::is_sorted(set.rules.begin(), set.rules.end(),
                             [](const Rule& a, const Rule& b) { return a.cause < b.cause; }));
}

TEST(StandardRules, OneForEveryCause) {
  const RuleSet set = standard_rules();
  for (const FileProblem& problem : set.problems)
    ADD_FAILURE() << problem.file << ":" << problem.line << ": " << problem.message;
  std::set<std::string> causes;
  for (const Rule& rule : set.rules) causes.insert(rule.cause);
  for (const std::string_view cause : taxonomy()) EXPECT_TRUE(causes.contains(std::string(cause))) << cause;
  EXPECT_EQ(causes.size(), taxonomy().size());
  size_t parsed = 0;  // no two files speak of the same cause
  for (const EmbeddedRules& file : embedded_rules()) {
    parsed += parse_rules(file.text, std::string(file.name)).rules.size();
    EXPECT_EQ(file.text, read_source(std::string(file.name)));
  }
  EXPECT_EQ(parsed, set.rules.size());
}

TEST(StandardRules, AreComplete) {
  std::set<std::pair<std::string, std::string>> yields;
  for (const Rule& rule : standard_rules().rules) {
    SCOPED_TRACE(rule.cause);
    EXPECT_GT(rule.explain.size(), 60U);
    EXPECT_GT(rule.action.size(), 60U);
    EXPECT_TRUE(!rule.affects.empty() || rule.subject == SubjectBy::kBlocked);
    for (const EvidenceRule& evidence : rule.evidence) EXPECT_FALSE(evidence.says.empty()) << evidence.fact;
    for (const std::string& to : rule.yields_to) yields.insert({rule.cause, to});
  }
  for (const auto& [from, to] : yields) {
    EXPECT_FALSE(yields.contains({to, from})) << from << " and " << to << " yield to each other";
  }
}

TEST(Vocabulary, IsWhatTheDocumentationSays) {
  const std::string signals = read_source("docs/signals.md");
  const std::string rules = read_source("docs/rules.md");
  for (const KnownFact& fact : all_facts()) {
    const std::string name = "`" + std::string(fact.name) + "`";
    EXPECT_THAT(is_signal(fact) ? signals : rules, HasSubstr(name));
  }
  for (const std::string_view cause : taxonomy()) EXPECT_THAT(rules, HasSubstr("`" + std::string(cause) + "`"));
  // Every metric of the tables is known, with its unit.
  std::istringstream lines(signals.substr(signals.find("## Metrics")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.find("`") == std::string::npos) continue;
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    for (size_t at = cells[2].find('`'); at != std::string::npos; at = cells[2].find('`', at)) {
      const size_t end = cells[2].find('`', at + 1);
      const std::string name = cells[2].substr(at + 1, end - at - 1);
      const KnownFact* fact = find_fact(name);
      ASSERT_NE(fact, nullptr) << name;
      EXPECT_THAT(cells[3], HasSubstr(std::string(fact->unit))) << name;
      at = end + 1;
    }
  }
}

Rule only_rule(const std::string& text) {
  const RuleSet set = parse_rules(text, "site.toml");
  EXPECT_THAT(set.problems, IsEmpty());
  return set.rules.empty() ? Rule() : set.rules.front();
}

TEST(RuleFile, WhatARuleAffectsFollowsFromItsEvidence) {
  const auto needing = [](const std::string& fact) {
    return rule_text("subject = \"all\"",
                     "[[rule.evidence]]\nneed = \"required\"\nfact = \"" + fact + "\"\nabove = 0.01\n");
  };
  EXPECT_THAT(only_rule(needing("time.compute_share")).affects, ElementsAre(TimeClass::kCompute));
  EXPECT_THAT(only_rule(needing("kernels.all_ratio")).affects, ElementsAre(TimeClass::kCompute));
  EXPECT_THAT(only_rule(needing("transfer.share")).affects, ElementsAre(TimeClass::kCommunication));
  EXPECT_THAT(only_rule(needing("cpu.throttled")).affects, SizeIs(kTimeClassCount - 1));
  EXPECT_THAT(problem_of(rule_text("affects = []")), HasSubstr("names no class of time"));
}

TEST(RuleFile, YieldingToNobodyIsTold) {
  const RuleSet mine = parse_rules(rule_text("yields_to = [\"site.fann\", \"gpu.power_cap\"]"), "site.toml");
  RuleSet loaded = standard_rules();
  merge_rules(loaded, mine);
  const std::vector<FileProblem> problems = idle_yields(mine, loaded);
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(in_words(problems[0]), "site.toml:1: site.fan yields to site.fann, of which there is no rule");
  EXPECT_THAT(idle_yields(standard_rules(), standard_rules()), IsEmpty());
}

TEST(NearestWord, FewEditsOrNothing) {
  const std::vector<std::string_view> words = {"above", "above_peers", "below"};
  EXPECT_EQ(nearest_word("abov", words), "above");
  EXPECT_EQ(nearest_word("above_per", words), "above_peers");
  EXPECT_EQ(nearest_word("something", words), "");
  EXPECT_EQ(nearest_word("", words), "");
}

}  // namespace
}  // namespace eroica
