#include "coordinator/period_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/json.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFrom = 1'000'000 * kSecond;
constexpr int64_t kTo = 2'000'000 * kSecond;

Incident incident(int64_t id, int64_t detected_s, const std::string& cause = "", const std::string& host = "") {
  Incident one;
  one.id = id;
  one.job = "j";
  one.onset_unix_ns = kFrom + (detected_s - 10) * kSecond;
  one.detected_unix_ns = kFrom + detected_s * kSecond;
  one.lost_gpu_s = 100;
  one.interference_gpu_s = 3;
  if (!cause.empty()) {
    ToldClaim told;
    told.claim.cause = cause;
    if (!host.empty()) told.claim.hosts = {host};
    one.claims.push_back(told);
    one.localised_unix_ns = one.detected_unix_ns + 5 * kSecond;
  }
  return one;
}

TEST(PeriodReport, CountsWhatHappened) {
  std::vector<Incident> all = {incident(1, 100, "gpu.clock_low", "h1"), incident(2, 200, "gpu.ecc", "h1"),
                               incident(3, 300), incident(4, -100, "gpu.ecc")};
  all[0].closed_unix_ns = all[0].recovered_unix_ns = all[0].detected_unix_ns + 50 * kSecond;
  const std::vector<Feedback> feedback = {
      {1, 5, "a", Verdict::kWrong, "", ""}, {1, 9, "a", Verdict::kRight, "", ""}, {2, 6, "b", Verdict::kWrong, "", ""}};
  const PeriodReport report = report_period(all, feedback, 7, kFrom, kTo);
  EXPECT_EQ(report.incidents, 3U);
  EXPECT_EQ(report.diagnosed, 2U);
  EXPECT_EQ(report.unresolved, 2U);
  EXPECT_EQ(report.right, 1U);
  EXPECT_EQ(report.false_alarms, 1U);
  EXPECT_EQ(report.false_alarms_gpu_s, 3);
  EXPECT_EQ(report.categories.at("gpu").incidents, 2U);
  EXPECT_EQ(report.categories.at("undiagnosed").incidents, 1U);
  EXPECT_DOUBLE_EQ(report.to_detection.median_s, 10);
  EXPECT_DOUBLE_EQ(report.to_localisation.median_s, 15);
  EXPECT_EQ(report.to_fix.count, 1U);
  EXPECT_DOUBLE_EQ(report.to_fix.median_s, 60);
  ASSERT_EQ(report.recurring.size(), 1U);
  EXPECT_EQ(report.recurring[0].name, "h1");
  EXPECT_EQ(report.recurring[0].incidents, 2U);
  EXPECT_THAT(report_csv(report), HasSubstr("incidents,\"gpu\",2\n"));
}

TEST(PeriodReport, NamesCannotBecomeFormulas) {
  std::vector<Incident> all = {incident(1, 1, "x.y", "=cmd()"), incident(2, 2, "x.y", "=cmd()")};
  EXPECT_THAT(report_csv(report_period(all, {}, 1, kFrom, kTo)), HasSubstr("\"'=cmd()\""));
}

RC_GTEST_PROP(PeriodReportProperty, DoesNotDependOnTheOrder, ()) {
  std::vector<Incident> all;
  std::vector<Feedback> feedback;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 1; i <= count; ++i) {
    all.push_back(incident(i, *rc::gen::inRange(0, 3'000'000), *rc::gen::element<std::string>("", "a.b", "c.d"),
                           *rc::gen::element<std::string>("", "h1", "h2")));
    feedback.push_back({*rc::gen::inRange(1, 30), *rc::gen::inRange(1, 9), "a",
                        *rc::gen::element(Verdict::kRight, Verdict::kWrong, Verdict::kOtherCause), "", ""});
  }
  const std::string before = text_of(to_json(report_period(all, feedback, 3, kFrom, kTo)));
  std::mt19937 dice(*rc::gen::arbitrary<uint32_t>());
  std::ranges::shuffle(all, dice);
  std::ranges::shuffle(feedback, dice);
  RC_ASSERT(text_of(to_json(report_period(all, feedback, 3, kFrom, kTo))) == before);
}

TEST(Changes, NearAnOnsetAreFoundNearestFirst) {
  Incident one = incident(1, 1000);
  one.tenant = "vision";
  const auto change = [&](int64_t id, int64_t before_s, const std::string& tenant, std::vector<std::string> jobs) {
    return Change{id, tenant, one.onset_unix_ns - before_s * kSecond, "me", "x", std::move(jobs), "", 0};
  };
  const std::vector<Change> changes = {change(1, 300, "vision", {}),   change(2, 20, "", {"j*"}),
                                       change(3, 10, "speech", {}),    change(4, 10, "vision", {"k"}),
                                       change(5, -5, "vision", {"j"}), change(6, 4000, "vision", {})};
  const std::vector<NearChange> near = changes_near(one, changes, 3600 * kSecond, 10);
  ASSERT_EQ(near.size(), 3U);
  EXPECT_EQ(near[0].change.id, 5);
  EXPECT_EQ(near[1].change.id, 2);
  EXPECT_EQ(near[2].change.id, 1);
  EXPECT_EQ(near[2].before_onset_s, 300);
}

}  // namespace
}  // namespace eroica
