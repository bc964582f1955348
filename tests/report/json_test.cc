#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/html.h"
#include "report/report_page.h"
#include "report/sample_conclusions.h"
#include "report/sample_patterns.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Document built(const testing::SampleJob& job, const DocumentOptions& options = {}, Conclusion conclusion = {}) {
  return build_document(job.patterns, job.names, options, std::move(conclusion)).value();
}

/// Compares with tests/report/golden/NAME.json, which test_documents.py holds against the schema; with
/// EROICA_UPDATE_GOLDEN set, rewrites it instead.
void expect_golden(const std::string& name, const std::string& json) {
  const std::string path = std::string(EROICA_SOURCE_DIR "/tests/report/golden/") + name + ".json";
  if (std::getenv("EROICA_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << json;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; EROICA_UPDATE_GOLDEN=1 writes it";
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(expected, json) << path << "; EROICA_UPDATE_GOLDEN=1 rewrites it";
}

nlohmann::ordered_json parsed(const Document& document) { return nlohmann::ordered_json::parse(write_json(document)); }

TEST(Json, KeysComeInTheContractsOrder) {
  std::vector<std::string> keys;
  const auto json = parsed(built(testing::cpu_job()));
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("schema", "job", "healthy", "window", "coverage", "import", "profile", "budget",
                                "what_if", "peer_groups", "victims", "diagnoses", "hints"));
}

TEST(Json, ConclusionsOfAllKinds) {
  const auto odd = [](Conclusion conclusion) {
    return write_json(built(testing::odd_job(), {}, std::move(conclusion)));
  };
  expect_golden("heat", odd(testing::heat_conclusion()));
  expect_golden("two_claims", odd(testing::two_claims()));
  expect_golden("all_ranks", odd(testing::all_ranks()));
  expect_golden("blocked", odd(testing::blocked_conclusion()));
  expect_golden("healthy", odd(testing::healthy_conclusion(1)));
  expect_golden("not_diagnosed", odd({}));
}

TEST(Json, ClaimsMakeAJobUnhealthyAndHintsDoNot) {
  EXPECT_FALSE(built(testing::cpu_job(), {}, testing::two_claims()).healthy);
  Conclusion hinted;
  hinted.hints = testing::heat_conclusion().hints;
  const auto json = parsed(built(testing::cpu_job(), {}, hinted));
  EXPECT_EQ(json["healthy"], true);
  EXPECT_EQ(json["diagnoses"].size(), 0u);
  EXPECT_EQ(json["hints"].size(), 1u);
}

TEST(Json, BudgetTellsWhatTheAnswerIsWorth) {
  const auto budget = [](Conclusion conclusion) {
    return parsed(built(testing::cpu_job(), {}, std::move(conclusion)))["budget"];
  };
  EXPECT_EQ(budget({}).dump(), R"({"coverage":1.0,"resolution":null,"interference_ms":null,"yield":null})");
  EXPECT_EQ(budget(testing::heat_conclusion())["resolution"], "function and component");
  EXPECT_EQ(budget(testing::two_claims())["resolution"], "function");
  EXPECT_EQ(budget(testing::two_claims())["yield"], 1.0);
  EXPECT_EQ(budget(testing::blocked_conclusion())["resolution"], "host");
  Conclusion vague = testing::two_claims();
  vague.diagnoses[0].function.reset();
  EXPECT_EQ(budget(vague)["yield"], 0.5);
}

TEST(Json, SignalsThatRulesLackedJoinTheBasicOnes) {
  testing::SampleJob job = testing::cpu_job();
  for (FunctionPattern& function : job.patterns[3].functions) function.hardware.clear();
  Conclusion conclusion;
  conclusion.signals_missing = {"net.queue", "cpu.run", "cpu.allowed"};
  conclusion.notes = {"nothing could be aligned"};
  const auto json = parsed(built(job, {}, conclusion));
  EXPECT_EQ(json["coverage"]["signals_missing"].dump(), R"(["cpu.allowed","cpu.run","net.queue"])");
  EXPECT_EQ(json["profile"]["notes"][0], "nothing could be aligned");
}

TEST(Json, ThousandRanksAndHostileNamesAreWritten) {
  const Document document = built(testing::cpu_job(), {}, testing::thousand_ranks());
  const auto json = parsed(document);
  EXPECT_EQ(json["victims"].size(), 857u);
  EXPECT_EQ(json["diagnoses"][0]["ranks"].size(), 143u);
  EXPECT_THAT(script_safe(write_json(document)), Not(HasSubstr("<b>")));
  EXPECT_EQ(write_json(document), write_json(built(testing::cpu_job(), {}, testing::thousand_ranks())));
}

TEST(Json, EveryDefectHasItsKey) {
  const auto json = parsed(built(testing::odd_job()));
  const auto& defects = json["import"]["defects"];
  EXPECT_EQ(defects.size(), kDefectCount);
  EXPECT_EQ(defects["repaired_event"], 3);
  EXPECT_EQ(defects["bad_event"], 0);
}

TEST(Json, UnknownIsNullNotInvented) {
  const auto json = parsed(built(testing::odd_job()));
  EXPECT_TRUE(json["job"]["world_size"].is_null());
  EXPECT_TRUE(json["coverage"]["ranks_expected"].is_null());
  EXPECT_TRUE(json["profile"]["steps"]["median_ms"].is_null());
  EXPECT_TRUE(json["profile"]["time"]["ranks"][0]["step_ms"].is_null());
  EXPECT_TRUE(json["budget"]["coverage"].is_null());
  EXPECT_TRUE(json["what_if"]["slowdown"].is_null());
}

TEST(Json, NumbersAreRoundedAndInvalidTextIsReplaced) {
  testing::SampleJob job = testing::odd_job();
  job.patterns[0].functions[0].hardware = {
      {"cpu.run", "rank 0", "cores", 1.0 / 3, std::numeric_limits<double>::quiet_NaN(), 1}};
  const std::string text = write_json(built(job));
  EXPECT_THAT(text, HasSubstr("\"mean\": 0.3333,"));
  EXPECT_THAT(text, HasSubstr("\"deviation\": null"));
  EXPECT_THAT(text, HasSubstr("\\ufffd"));
  EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(Json, RanksThatBundleJsonListsAreExpected) {
  const testing::SampleJob job = testing::odd_job();
  DocumentOptions options;
  for (const RankPattern& pattern : job.patterns) options.ranks_listed.push_back(pattern.rank);
  options.ranks_listed.push_back(1000);
  const auto json = parsed(built(job, options));
  EXPECT_EQ(json["coverage"]["ranks_expected"], job.patterns.size() + 1);
  EXPECT_THAT(json["profile"]["notes"].dump(), HasSubstr("rank 1000 of bundle.json: nothing to read"));
}

TEST(Json, SameInputSameBytes) {
  testing::SampleJob job = testing::gpu_job(4);
  const std::string once = write_json(built(job));
  std::ranges::reverse(job.patterns);
  EXPECT_EQ(once, write_json(built(job)));
}

TEST(Json, DetailAddsIssuersAndSeries) {
  const auto overview = parsed(built(testing::cpu_job()))["profile"]["functions"][0];
  EXPECT_FALSE(overview.contains("issuers"));
  EXPECT_FALSE(overview["ranks"][0].contains("step_exposed_ms"));
  const auto detail = parsed(built(testing::cpu_job(), {.function = "all_reduce"}))["profile"]["functions"][0];
  EXPECT_EQ(detail["issuers"].size(), 1u);
  EXPECT_EQ(detail["ranks"][0]["step_exposed_ms"].size(), 16u);
}

TEST(Html, HoldsTheDocumentAndNothingThatEndsItsElement) {
  const Document document = built(testing::odd_job());
  const std::string page = write_html(document);
  EXPECT_THAT(page, Not(HasSubstr(std::string(kReportPagePlaceholder))));
  const std::string json = script_safe(write_json(document, -1));
  EXPECT_THAT(json, Not(HasSubstr("<")));
  EXPECT_THAT(page, HasSubstr(json));
  EXPECT_EQ(nlohmann::json::parse(json), nlohmann::json::parse(write_json(document)));
}

}  // namespace
}  // namespace eroica
