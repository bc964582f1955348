#include "agent/rank_table.h"

#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

HelloMessage hello(int32_t rank) {
  HelloMessage message;
  message.rank = rank;
  return message;
}

TEST(RankTable, TellsBeforehandWhomItAccepts) {
  RankTable table;
  ASSERT_NE(table.hello(hello(1), 100, "100-ab", false, 7), nullptr);
  HelloMessage launcher = hello(1);
  launcher.launcher = true;
  EXPECT_FALSE(table.accepts(launcher, 50, true));
  EXPECT_FALSE(table.accepts(hello(-1), 50, true));
  EXPECT_FALSE(table.accepts(hello(1), 101, false)) << "another living process is rank 1";
  EXPECT_EQ(table.hello(hello(1), 101, "101-ab", false, 8), nullptr);
  EXPECT_EQ(table.by_rank(1)->pid, 100);
  EXPECT_TRUE(table.accepts(hello(1), 100, false)) << "the same again";
  EXPECT_TRUE(table.accepts(hello(1), 101, true));
  EXPECT_TRUE(table.accepts(hello(2), 101, false));
}

}  // namespace
}  // namespace eroica::testing
