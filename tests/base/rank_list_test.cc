#include "base/rank_list.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

namespace eroica {
namespace {

TEST(RankList, JoinsRuns) {
  EXPECT_EQ(rank_list(std::vector<int32_t>{3}), "rank 3");
  EXPECT_EQ(rank_list(std::vector<int32_t>{7, 2, 1, 0, 9, 8}), "ranks 0-2, 7-9");
  EXPECT_EQ(rank_list(std::vector<int32_t>{}), "");
}

TEST(RankList, SaysWhatIsMissingWithoutListingMillions) {
  EXPECT_EQ(missing_ranks(std::vector<int32_t>{0, 1, 2}, 3), "");
  EXPECT_EQ(missing_ranks(std::vector<int32_t>{1}, 4), "ranks 0, 2-3");
  EXPECT_EQ(missing_ranks(std::vector<int32_t>{0}, std::numeric_limits<int32_t>::max()), "ranks 1-2147483646");
  EXPECT_EQ(missing_ranks(std::vector<int32_t>{5}, -1), "");
}

RC_GTEST_PROP(RankList, MissingIsTheListOfAllOthers, ()) {
  const auto world = *rc::gen::inRange<int32_t>(1, 20);
  const auto drawn = *rc::gen::container<std::vector<int32_t>>(rc::gen::inRange<int32_t>(0, 20));
  const std::set<int32_t> present(drawn.begin(), drawn.end());
  std::vector<int32_t> others;
  for (int32_t rank = 0; rank < world; ++rank) {
    if (!present.contains(rank)) others.push_back(rank);
  }
  RC_ASSERT(missing_ranks(std::vector<int32_t>(present.begin(), present.end()), world) == rank_list(others));
}

}  // namespace
}  // namespace eroica
