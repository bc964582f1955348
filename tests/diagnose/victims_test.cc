#include "diagnose/victims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/sample_job.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Four ranks in pairs: 0 and 1 share a group, 2 and 3 another.
std::vector<RankPattern> two_pairs() {
  std::vector<RankPattern> patterns = even_job(true);
  for (RankPattern& pattern : patterns) {
    const int32_t first = pattern.rank < 2 ? 0 : 2;
    pattern.groups = {{std::to_string(first), "dp", {first, first + 1}, 2}};
  }
  return patterns;
}

Job job_of(const std::vector<RankPattern>& patterns) { return build_job(patterns, sample_names()); }

TEST(Victims, AreThoseWhoShareACollective) {
  EXPECT_THAT(victims_of(job_of(even_job(true)), {2}), ElementsAre(0, 1, 3));
  EXPECT_THAT(victims_of(job_of(two_pairs()), {0}), ElementsAre(1));
  EXPECT_THAT(victims_of(job_of(two_pairs()), {0, 3}), ElementsAre(1, 2));
  EXPECT_THAT(victims_of(job_of(even_job(true)), {}), IsEmpty());
}

TEST(Victims, WaitThroughOthers) {
  std::vector<RankPattern> patterns = two_pairs();
  // Rank 1 also stands in the pair of 2 and 3.
  patterns[1].groups.push_back({"bridge", "tp", {1, 2}, 2});
  patterns[2].groups.push_back({"bridge", "tp", {1, 2}, 2});
  for (const size_t rank : {1U, 2U}) {
    CollectiveSummary more = patterns[rank].collectives.front();
    more.group = 1;
    patterns[rank].collectives.push_back(std::move(more));
  }
  EXPECT_THAT(victims_of(job_of(patterns), {0}), ElementsAre(1, 2, 3));
}

TEST(Victims, ABroadcastMakesNobodyWaitForItsReceivers) {
  std::vector<RankPattern> patterns = even_job(true);
  for (RankPattern& pattern : patterns) pattern.collectives.front().kind = "broadcast";
  EXPECT_THAT(victims_of(job_of(patterns), {2}), IsEmpty());
}

TEST(Victims, OfAMessageAreBothEnds) {
  std::vector<RankPattern> patterns = two_pairs();
  Job job = job_of(patterns);
  job.exchanges = {{1, 2}};
  EXPECT_THAT(victims_of(job, {3}), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace eroica
