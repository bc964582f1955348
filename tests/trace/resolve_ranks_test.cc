#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "trace/bundle.h"

namespace eroica {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

InputSet traces(const std::vector<std::string>& paths) {
  InputSet inputs;
  for (const std::string& path : paths) {
    inputs.ranks.emplace_back();
    inputs.ranks.back().trace_path = path;
  }
  return inputs;
}

/// One claim for each input, in order.
std::vector<RankClaim> claims(const std::vector<int32_t>& metadata_ranks) {
  std::vector<RankClaim> all;
  for (const int32_t rank : metadata_ranks) all.push_back({all.size(), rank});
  return all;
}

TEST(ResolveRanks, TheTraceKnowsBetterThanItsName) {
  InputSet inputs = traces({"host0/rank0.json", "host1/rank0.json", "rank7.json"});
  ASSERT_TRUE(resolve_ranks(inputs, claims({0, 8, -1})).ok());
  EXPECT_EQ(inputs.ranks[0].rank, 0);
  EXPECT_EQ(inputs.ranks[1].rank, 8);
  EXPECT_EQ(inputs.ranks[1].rank_source, RankSource::kMetadata);
  EXPECT_EQ(inputs.ranks[2].rank, 7);
  EXPECT_EQ(inputs.ranks[2].rank_source, RankSource::kFileName);
  EXPECT_THAT(inputs.problems, IsEmpty());
}

TEST(ResolveRanks, BundleAndRankFromWinAndAContradictionIsTold) {
  InputSet inputs = traces({"rank5.json", "rank6.json"});
  inputs.ranks[0].rank = 1;
  inputs.ranks[0].rank_source = RankSource::kBundle;
  inputs.ranks[1].rank = 2;
  inputs.ranks[1].rank_source = RankSource::kRankFrom;
  ASSERT_TRUE(resolve_ranks(inputs, claims({3, 2})).ok());
  EXPECT_EQ(inputs.ranks[0].rank, 1);
  EXPECT_EQ(inputs.ranks[1].rank, 2);
  EXPECT_THAT(inputs.problems, testing::ElementsAre("rank5.json: rank 1 by bundle.json, but the trace itself "
                                                    "says rank 3; taken as rank 1"));
}

TEST(ResolveRanks, ASingleSilentTraceIsRankZero) {
  InputSet inputs = traces({"trace.json"});
  ASSERT_TRUE(resolve_ranks(inputs, claims({-1})).ok());
  EXPECT_EQ(inputs.ranks[0].rank, 0);
  EXPECT_EQ(inputs.ranks[0].rank_source, RankSource::kOnlyTrace);

  InputSet named = traces({"rank34.json.gz"});
  ASSERT_TRUE(resolve_ranks(named, claims({-1})).ok());
  EXPECT_EQ(named.ranks[0].rank, 34);
}

TEST(ResolveRanks, TwoThatClaimOneRankAreListed) {
  InputSet inputs = traces({"a/rank0.json", "b/rank0.json", "b/rank1.json", "c.json"});
  const Status status = resolve_ranks(inputs, claims({-1, 0, -1, -1}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, Error::Kind::kAmbiguous);
  EXPECT_EQ(status.error().message,
            "which trace is which rank? 1 rank is claimed by more than one trace, and 1 trace says no rank:"
            "\n  a/rank0.json: rank 0 (file name)"
            "\n  b/rank0.json: rank 0 (the trace's distributedInfo)"
            "\n  c.json: says no rank"
            "\n  b/rank1.json: rank 1 (file name)"
            "\nName only the traces of one window, or tell the ranks: --rank-from 'rank(\\d+)' (a regular "
            "expression whose group captures the rank from the path), or a bundle.json.");
}

TEST(ResolveRanks, LongListsAreCut) {
  std::vector<std::string> paths;
  for (int i = 0; i < 1000; ++i) paths.push_back(fmt::format("trace{}.json", i));
  InputSet inputs = traces(paths);
  const Status status = resolve_ranks(inputs, claims(std::vector<int32_t>(1000, -1)));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("1000 traces say no rank"), HasSubstr("and 960 more")));
}

TEST(ResolveRanks, TracesThatWereNotReadDoNotSpeak) {
  InputSet inputs = traces({"rank0.json", "damaged.json", "rank0.bak.json"});
  ASSERT_TRUE(resolve_ranks(inputs, {{.input = 0, .metadata_rank = -1}}).ok());
  EXPECT_EQ(inputs.ranks[0].rank, 0);
  EXPECT_EQ(inputs.ranks[1].rank, -1);
  EXPECT_EQ(inputs.ranks[2].rank, -1);
  EXPECT_EQ(inputs.ranks[2].rank_source, RankSource::kUnknown);
}

TEST(ResolveRanks, ARankThatTheBundleListsWithoutATraceIsTaken) {
  InputSet inputs = traces({"", "extra/rank3.json"});
  inputs.ranks[0].rank = 3;
  inputs.ranks[0].rank_source = RankSource::kBundle;
  const Status status = resolve_ranks(inputs, {{.input = 1, .metadata_rank = -1}});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("(no trace): rank 3 (bundle.json)"), HasSubstr("extra/rank3.json: rank 3 (file name)")));
}

TEST(ResolveRanks, MetadataOutOfRangeIsNoClaim) {
  InputSet inputs = traces({"rank2.json"});
  ASSERT_TRUE(resolve_ranks(inputs, claims({2'000'000'000})).ok());
  EXPECT_EQ(inputs.ranks[0].rank, 2);
}

TEST(ResolveRanks, SuccessMeansDistinctRanks) {
  EXPECT_TRUE(rc::check("either every trace has a rank of its own, or the answer is ambiguous", [] {
    const auto count = *rc::gen::inRange<size_t>(1, 8);
    InputSet inputs;
    std::vector<RankClaim> all;
    for (size_t i = 0; i < count; ++i) {
      inputs.ranks.emplace_back();
      inputs.ranks.back().trace_path = *rc::gen::element<std::string>("rank0.json", "rank1.json", "x.json", "rank5/t");
      if (*rc::gen::inRange(0, 4) == 0) inputs.ranks.back().rank = *rc::gen::inRange(0, 4);
      all.push_back({i, *rc::gen::inRange(-1, 6)});
    }
    const InputSet before = inputs;
    const Status status = resolve_ranks(inputs, all);
    std::set<int32_t> ranks;
    for (const RankInput& input : inputs.ranks) ranks.insert(input.rank);
    const bool distinct = ranks.size() == count && *ranks.begin() >= 0;
    RC_ASSERT(status.ok() == distinct);
    for (size_t i = 0; i < count; ++i) {
      RC_ASSERT(inputs.ranks[i].trace_path == before.ranks[i].trace_path);
      if (before.ranks[i].rank >= 0) RC_ASSERT(inputs.ranks[i].rank == before.ranks[i].rank);
    }
  }));
}

}  // namespace
}  // namespace eroica
