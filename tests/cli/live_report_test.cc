#include "cli/live_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

RanksEnded killed(int32_t rank, pid_t pid) {
  RankExit end;
  end.rank = rank;
  end.pid = pid;
  end.has_ended = true;
  end.wait_status = SIGKILL;
  RanksEnded news;
  news.ends.world_size = 2;
  news.ends.ends = {end};
  news.ends.going_on = {0};
  return news;
}

JobInquired found_dead(int32_t rank, pid_t pid) {
  RankInquiry waits;
  waits.rank = 0;
  waits.pid = 10;
  waits.process.letter = 'S';
  RankInquiry dead;
  dead.rank = rank;
  dead.pid = pid;
  JobInquired news;
  news.inquiry.world_size = 2;
  news.inquiry.ranks = {waits, dead};
  return news;
}

/// The ranks that each diagnosis names.
std::vector<std::vector<int32_t>> told_of(std::vector<WatchNews> news) {
  std::vector<std::vector<int32_t>> ranks;
  LiveReportOptions options;
  options.job = "job";
  options.append = [&](const std::string& line) {
    const nlohmann::json document = nlohmann::json::parse(line);
    for (const nlohmann::json& diagnosis : document["diagnoses"]) {
      EXPECT_EQ(diagnosis["cause"], "blocked.process_dead");
      ranks.push_back(diagnosis["ranks"]);
    }
    return ok_status();
  };
  LiveReport report(std::move(options));
  report.start();
  for (WatchNews& one : news) report.hear(std::move(one));
  report.finish();
  return ranks;
}

TEST(LiveReport, TellsADeadRankOnceWhoeverNoticesItFirst) {
  EXPECT_THAT(told_of({killed(1, 11), found_dead(1, 11)}), ElementsAre(ElementsAre(1)));
  EXPECT_THAT(told_of({found_dead(1, 11), killed(1, 11)}), ElementsAre(ElementsAre(1)));
}

TEST(LiveReport, TellsAnotherEndOfTheSameRank) {
  EXPECT_THAT(told_of({killed(1, 11), found_dead(1, 12)}), SizeIs(2)) << "it had come back";
  EXPECT_THAT(told_of({killed(2, 12), found_dead(1, 11)}), ElementsAre(ElementsAre(2), ElementsAre(1)));
}

}  // namespace
}  // namespace eroica::testing
