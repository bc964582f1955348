#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <string>

#include "trace/bundle.h"
#include "trace/rank_from.h"

namespace eroica {
namespace {

using testing::HasSubstr;

struct Name {
  std::string path;
  int32_t rank;
};

TEST(RankFromFileName, KnowsTheNamesThatToolsWrite) {
  const Name names[] = {
      // torch's tensorboard handler, as people name the worker
      {"worker0.pt.trace.json", 0},
      {"worker12.1699999999999.pt.trace.json.gz", 12},
      {"worker_3.1699.pt.trace.json", 3},
      {"rank7.1699999999999999999.pt.trace.json.gz", 7},
      {"rank0_iter16_18.json", 0},
      // torchtitan
      {"rank0_trace.json", 0},
      {"iteration_10/rank15_trace.json", 15},
      // Megatron
      {"run/trace_rank_0003.json", 3},
      {"torch_profile.rank-3.step-10.json.gz", 3},
      {"rank3.json.gz", 3},
      // HTA
      {"rank-0.json.gz", 0},
      {"sampled_rank-1.json.gz", 1},
      {"trace_8_rank_1.json", 1},
      {"mtia_inference_rank_0.json.gz", 0},
      // dynolog, with a rank in the name that the user gave
      {"libkineto_activities_rank5_1074.json", 5},
      // a log's prefix
      {"[rank] 3.json", 3},
      {"[rank3].json", 3},
      {"Rank=4.json", 4},
      {"RANK_11.JSON", 11},
      {"rank_000000000012.json", 12},
  };
  for (const Name& name : names) EXPECT_EQ(rank_from_file_name(name.path), name.rank) << name.path;
}

TEST(RankFromFileName, DoesNotGuess) {
  const std::string names[] = {
      "host_1234.1699.pt.trace.json",    // a process id and a time
      "libkineto_activities_1074.json",  // a process id
      "workers0.json.gz",                // a number of workers
      "worker0.json",                    // not as torch writes it
      "my_worker0.pt.trace.json",        // a worker of something
      "worker0rank.pt.trace.json",
      "r3.json",
      "3.json",
      "frank3.json",
      "ranks8.json",
      "8ranks.json",
      "rank.json",
      "rank_x3.json",
      "rank3rd.json",
      "rank___3.json",
      "trace.json",
      "",
      "/",
      "rank99999999999999999999.json",
  };
  for (const std::string& name : names) EXPECT_EQ(rank_from_file_name(name), -1) << name;
}

TEST(RankFromFileName, RanksOfPartsOfTheJobDoNotCount) {
  EXPECT_EQ(rank_from_file_name("local_rank_1.json"), -1);
  EXPECT_EQ(rank_from_file_name("trace_tp_rank_0_pp_rank_1.json"), -1);
  EXPECT_EQ(rank_from_file_name("node_rank1_local_rank3.json"), -1);
  EXPECT_EQ(rank_from_file_name("rank12_local_rank4.json"), 12);
  EXPECT_EQ(rank_from_file_name("local_rank4_global_rank12.json"), 12);
  EXPECT_EQ(rank_from_file_name("rank4_global_rank12.json"), 12);
  EXPECT_EQ(rank_from_file_name("rank1_vs_rank2.json"), -1) << "two that differ tell nothing";
  EXPECT_EQ(rank_from_file_name("rank2_copy_of_rank2.json"), 2);
}

TEST(RankFromFileName, FoldersCountWhenTheFileSaysNothing) {
  EXPECT_EQ(rank_from_file_name("run/rank_3/trace.json"), 3);
  EXPECT_EQ(rank_from_file_name("run/rank3/profile/trace.json"), 3);
  EXPECT_EQ(rank_from_file_name("run/node0_rank5/host_77.1.pt.trace.json"), 5);
  EXPECT_EQ(rank_from_file_name("rank_3/a/b/trace.json"), -1) << "too far above";
  EXPECT_EQ(rank_from_file_name("rank_2_experiments/trace.json"), -1);
  EXPECT_EQ(rank_from_file_name("rank_3/rank_4.json"), 4);
  EXPECT_EQ(rank_from_file_name("rank_3/rank_4_rank_5.json"), -1);
  EXPECT_EQ(rank_from_file_name("rank_3//trace.json"), 3);
}

TEST(RankFromFileName, AnyTextGivesARankOrNone) {
  EXPECT_TRUE(rc::check("the answer is −1 or a sane rank, and an unambiguous name is read back", [] {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("rankworker0123456789_-./[] \0xRAéö", 36)));
    const int32_t rank = rank_from_file_name(text);
    RC_ASSERT(rank >= -1);
    RC_ASSERT(rank <= 9'999'999);

    const auto number = *rc::gen::inRange(0, 10'000'000);
    const auto before = *rc::gen::element<std::string>("", "trace_", "a-b.", "run7_", "x/y/");
    const auto between = *rc::gen::element<std::string>("", "_", "-", "=", "] ");
    const auto after = *rc::gen::element<std::string>("", ".json", "_iter1.json.gz", ".1.pt.trace.json");
    RC_ASSERT(rank_from_file_name(before + "rank" + between + std::to_string(number) + after) == number);
  }));
}

Result<std::optional<int32_t>> rank_by(const std::string& pattern, const std::string& path) {
  Result<RankFrom> rank_from = RankFrom::compile(pattern);
  if (!rank_from.ok()) return rank_from.error();
  return rank_from->rank(path);
}

TEST(RankFrom, CapturesTheRankFromThePath) {
  EXPECT_EQ(*rank_by(R"(r(\d+)\.json)", "run7/r3.json"), 3);
  EXPECT_EQ(*rank_by(R"(node\d+/gpu(\d+))", "node3/gpu45/rank7.json"), 45);
  EXPECT_EQ(*rank_by(R"(^(?:[^/]*/)*(\d+)_)", "a/b/0012_x.json"), 12);
  EXPECT_EQ(*rank_by(R"(rank(\d+))", "trace.json"), std::nullopt);
}

TEST(RankFrom, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(rank_by("(", "x").error().message, HasSubstr("--rank-from '(': not a regular expression"));
  EXPECT_THAT(rank_by("rank", "x").error().message, HasSubstr("exactly one group (…)"));
  EXPECT_THAT(rank_by("(a)(b)", "x").error().message, HasSubstr("found 2"));
  EXPECT_THAT(rank_by("([a-z]+)", "dir/trace.json").error().message,
              HasSubstr("captures \"dir\" from dir/trace.json, which is no rank"));
  EXPECT_THAT(rank_by("x(\\d*)", "x").error().message, HasSubstr("captures \"\""));
  EXPECT_THAT(rank_by("(\\d+)", "99999999999999999999").error().message, HasSubstr("no rank"));
  EXPECT_THAT(rank_by("(a)\\1", "x").error().message, HasSubstr("not a regular expression"));
  EXPECT_THAT(rank_by(std::string(1000, '('), "x").error().message, HasSubstr("longer than"));
  EXPECT_THAT(rank_by("(x)", std::string(5000, 'x')).error().message, HasSubstr("too long"));
  EXPECT_EQ(rank_by("(", "x").error().kind, Error::Kind::kInvalid);
}

TEST(RankFrom, NoPatternRunsForEver) {
  const std::string path(1000, 'a');
  for (const char* pattern : {"(a+)+$x", "(?:a*)*(?:a*)*(b)", "(a|aa)+$b"}) {
    Result<RankFrom> rank_from = RankFrom::compile(pattern);
    ASSERT_TRUE(rank_from.ok()) << pattern;
    const auto rank = rank_from->rank(path);
    EXPECT_TRUE(rank.ok() && !rank->has_value()) << pattern;
  }
}

}  // namespace
}  // namespace eroica
