#include "sample/process_text.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(ProcessText, Schedstat) {
  const auto told = parse_schedstat("8834129 7633643 12\n");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->run_ns, 8834129u);
  EXPECT_EQ(told->wait_ns, 7633643u);
  EXPECT_FALSE(parse_schedstat(""));
  EXPECT_FALSE(parse_schedstat("12\n"));
  EXPECT_FALSE(parse_schedstat("0 -3 1\n"));
  EXPECT_FALSE(parse_schedstat("99999999999999999999 1 1\n"));
}

constexpr const char* kStat =
    "4711 (a) b (c) R 17 4711 4711 0 -1 4194304 77824 12 3 4 250 31 5 6 20 0 9 0 123456 268435456 5120 "
    "18446744073709551615 1 1 0 0 0 0 0 16781312 134235874 0 0 0 17 1 0 0 7 0 0\n";

TEST(ProcessText, StatWithParenthesesInTheName) {
  const auto told = parse_task_stat(kStat);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->name, "a) b (c");
  EXPECT_EQ(told->state, 'R');
  EXPECT_EQ(told->parent, 17);
  EXPECT_EQ(told->major_faults, 3u);
  EXPECT_EQ(told->user_ticks, 250u);
  EXPECT_EQ(told->system_ticks, 31u);
  EXPECT_EQ(told->threads, 9u);
  EXPECT_EQ(told->start_ticks, 123456u);
  EXPECT_EQ(told->resident_pages, 5120u);
}

TEST(ProcessText, EveryCutOfAStatIsReadOrRefused) {
  const std::string_view whole = kStat;
  const size_t last_wanted = whole.find("5120");
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto told = parse_task_stat(whole.substr(0, length));
    EXPECT_EQ(told.has_value(), length > last_wanted) << length;
  }
  EXPECT_FALSE(parse_task_stat(")("));
}

TEST(ProcessText, Io) {
  const auto told = parse_process_io(
      "rchar: 6976\nwchar: 1\nsyscr: 10\nsyscw: 0\nread_bytes: 8192\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->read_bytes, 8192u);
  EXPECT_EQ(told->write_bytes, 4096u);
  EXPECT_FALSE(parse_process_io("rchar: 6976\n"));
}

TEST(ProcessText, AllowedCpus) {
  EXPECT_EQ(parse_allowed_cpus("Name:\tpython\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"), 2u);
  EXPECT_EQ(parse_allowed_cpus("Cpus_allowed:\tffffffff,00000000,0000000f\n"), 36u);
  EXPECT_FALSE(parse_allowed_cpus("Cpus_allowed:\t0\n"));
  EXPECT_FALSE(parse_allowed_cpus("Cpus_allowed:\tzz\n"));
  EXPECT_FALSE(parse_allowed_cpus("Name:\tpython\n"));
}

}  // namespace
}  // namespace eroica
