#include "coordinator/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using ::testing::HasSubstr;

std::string batch_of(const std::string& observation) {
  return R"({"sender":"s1","observations":[{"number":1,"unix_ns":5,"job":"j","host":"h",)" + observation + "}]}";
}

TEST(ObservationBatch, IsReadAsItWasWritten) {
  ObservationBatch batch;
  batch.sender = "s1";
  StatusTold status;
  status.status.job = "j";
  status.status.state = JobState::kSlow;
  status.status.ranks = 4;
  const auto add = [&](decltype(Observation::what) what) {
    const auto number = static_cast<int64_t>(batch.observations.size()) + 1;
    batch.observations.push_back({number, 100 + number, "j", "h", std::move(what)});
  };
  add(status);
  add(TroubleTold{TroubleKind::kBlocked, 7, 12, 0, 0});
  add(RecoveryTold{13});
  add(WindowTold{"w1", 2.5, 4, 12.5});
  add(DocumentTold{R"({"diagnoses":[],"schema":"eroica.diagnosis/1"})", true, {}});
  add(OrderTold{3, "w2", ""});
  add(WatcherLeft{});
  const std::string text = to_text(batch);
  const Result<ObservationBatch> read = parse_observations(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_text(*read), text);
}

TEST(ObservationBatch, SaysWhatIsWrongWithIt) {
  const auto problem = [](const std::string& text) {
    const Result<ObservationBatch> read = parse_observations(text);
    return read ? std::string("nothing") : read.error().message;
  };
  EXPECT_THAT(problem("[]"), HasSubstr("object"));
  EXPECT_THAT(problem(R"({"sender":"a b","observations":[]})"), HasSubstr("sender"));
  EXPECT_THAT(problem(batch_of(R"("kind":"unheard")")), HasSubstr("kind"));
  EXPECT_THAT(problem(batch_of(R"("kind":"diagnosis","document":{"schema":"other"})")), HasSubstr("observations[0]"));
  EXPECT_THAT(problem(R"({"sender":"s","observations":[{"number":1,"unix_ns":5,"job":"../x","host":"h"}]})"),
              HasSubstr("id of a job"));
  EXPECT_EQ(problem(batch_of(R"("kind":"left")")), "nothing");
}

TEST(ObservationBatch, NumbersMustCountUp) {
  const std::string one = R"({"number":2,"unix_ns":5,"job":"j","host":"h","kind":"left"})";
  EXPECT_FALSE(parse_observations(R"({"sender":"s","observations":[)" + one + "," + one + "]}").ok());
}

TEST(Json, DeepNestingIsRefused) {
  EXPECT_TRUE(is_shallow(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(is_shallow(std::string(65, '[')));
  EXPECT_TRUE(is_shallow("\"" + std::string(1000, '[') + "\""));
  EXPECT_FALSE(parse_observations(std::string(100'000, '[')).ok());
}

TEST(Document, TellsItsClaims) {
  const Result<DocumentTold> told = parse_document(
      R"({"schema":"eroica.diagnosis/1","diagnoses":[{"cause":"gpu.clock_low","title":"slow clock","confidence":7,
          "ranks":[1,-2,"x",3],"hosts":["h1"]}]})");
  ASSERT_TRUE(told.ok());
  ASSERT_EQ(told->claims.size(), 1U);
  EXPECT_EQ(told->claims[0].cause, "gpu.clock_low");
  EXPECT_EQ(told->claims[0].confidence, 1);
  EXPECT_EQ(told->claims[0].ranks, (std::vector<int32_t>{1, 3}));
}

TEST(ChangeJson, AcceptsOnlyLinksThatABrowserMayFollow) {
  EXPECT_FALSE(parse_change(R"({"what":"x","url":"javascript:0"})", 1).ok());
  const Result<Change> change = parse_change(R"({"what":"driver 570","jobs":["vision-*"],"url":"https://t/1"})", 42);
  ASSERT_TRUE(change.ok());
  EXPECT_EQ(change->unix_ns, 42);
}

RC_GTEST_PROP(JsonProperty, WhateverComesIsReadOrRefused, (const std::string& bytes)) {
  (void)parse_observations(bytes);
  (void)parse_document(bytes);
  (void)parse_incident(bytes);
  (void)parse_change(bytes, 1);
  RC_ASSERT(!parse_feedback(bytes).ok());
}

RC_GTEST_PROP(JsonProperty, ADamagedBatchIsReadOrRefused, ()) {
  std::string text = batch_of(R"("kind":"slow","onset_unix_ns":3,"step":4,"level_ms":2.5,"baseline_ms":1.5)");
  const auto at = *rc::gen::inRange<size_t>(0, text.size());
  text[at] = *rc::gen::arbitrary<char>();
  const Result<ObservationBatch> read = parse_observations(text);
  if (read.ok()) RC_ASSERT(read->observations.size() <= 1U);
}

}  // namespace
}  // namespace eroica
