#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/html.h"
#include "report/report_page.h"
#include "report/sample_patterns.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Document built(const testing::SampleJob& job, const DocumentOptions& options = {}) {
  return build_document(job.patterns, job.names, options).value();
}

nlohmann::ordered_json parsed(const Document& document) { return nlohmann::ordered_json::parse(write_json(document)); }

TEST(Json, KeysComeInTheContractsOrder) {
  std::vector<std::string> keys;
  const auto json = parsed(built(testing::cpu_job()));
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("schema", "job", "healthy", "window", "coverage", "import", "profile", "budget",
                                "peer_groups", "victims", "diagnoses", "hints"));
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
  EXPECT_FALSE(json["budget"].contains("coverage"));
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
