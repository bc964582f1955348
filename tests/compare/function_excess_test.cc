#include "compare/function_excess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/robust.h"
#include "jobs.h"

namespace eroica {
namespace {

FunctionUse use_of(uint32_t function, float exposed, float calls = 1) {
  FunctionUse use;
  use.function = function;
  use.exposed = exposed;
  use.calls = calls;
  return use;
}

RC_GTEST_PROP(FunctionExcess, IsAboveTheMedianOfAllPeersWhetherTheyRanItOrNot, ()) {
  const auto whole = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(2, 20), rc::gen::inRange(0, 100));
  Job job = bare_job(whole.size());
  const uint32_t function = add_function(job, FunctionKind::kPython);
  std::vector<double> others;
  for (size_t rank = 0; rank < whole.size(); ++rank) {
    if (rank == 0 || whole[rank] > 0) add_use(job, rank, use_of(function, static_cast<float>(whole[rank]) * 1e-3F));
    if (rank > 0) others.push_back(whole[rank] * 1e-3);
  }
  const auto found = function_excess(job, FunctionIndex(job), one_set(whole.size()), Subject({0}, whole.size()));
  RC_ASSERT(found.size() == 1U);
  RC_ASSERT(std::abs(found[0].share - whole[0] * 1e-3) < 1e-6);
  RC_ASSERT(std::abs(found[0].excess - (whole[0] * 1e-3 - median(others))) < 1e-6);
}

TEST(FunctionExcess, LargestFirstAndTheShareWhereThereIsNobody) {
  Job job = bare_job(2);
  const uint32_t a = add_function(job, FunctionKind::kPython);
  const uint32_t b = add_function(job, FunctionKind::kPython);
  for (size_t rank = 0; rank < 2; ++rank) {
    add_use(job, rank, use_of(a, 0.5F));
    add_use(job, rank, use_of(b, rank == 0 ? 0.2F : 0.1F));
  }
  const FunctionIndex index(job);
  const auto some = function_excess(job, index, one_set(2), Subject({0}, 2));
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[0].function, b);
  EXPECT_NEAR(some[0].excess, 0.1, 1e-6);
  EXPECT_NEAR(some[1].excess, 0, 1e-6);
  const auto all = function_excess(job, index, one_set(2), Subject({0, 1}, 2));
  EXPECT_EQ(all[0].function, a);
  EXPECT_NEAR(all[0].excess, all[0].share, 1e-9);
}

TEST(BlameUserFunction, TheInnermostThatHoldsMostOfIt) {
  Job job = bare_job(1);
  NameTable names;
  std::vector<FunctionExcess> functions;
  const auto add = [&](const std::string& text, std::vector<std::string> path, double excess, int32_t line) {
    const uint32_t function = add_function(job, FunctionKind::kPython);
    job.functions[function].user_code = true;
    names[job.functions[function].hash] = {text, "", "job/train.py", FunctionKind::kPython, std::move(path)};
    FunctionExcess from;
    from.function = function;
    from.share = excess;
    from.excess = excess;
    from.line = line;
    functions.push_back(from);
  };
  add("augment", {"job/train.py: main", "job/train.py: load"}, 0.30, 40);
  add("load", {"job/train.py: main"}, 0.02, 30);
  add("main", {}, 0.03, 10);
  const auto found = blame_user_function(job, names, functions, false);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "augment");
  EXPECT_EQ(found->file, "job/train.py");
  EXPECT_EQ(found->line, 40);
  EXPECT_NEAR(found->excess, 0.30, 1e-9);
  EXPECT_THAT(found->path, testing::ElementsAre("job/train.py: main", "job/train.py: load"));
  EXPECT_FALSE(blame_user_function(job, names, {}, false).has_value());
}

}  // namespace
}  // namespace eroica
