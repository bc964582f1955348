#include "compare/kernel_speed.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/robust.h"
#include "jobs.h"

namespace eroica {
namespace {

FunctionUse use_of(uint32_t function, float exposed, float mean_us, uint32_t shape = 1) {
  FunctionUse use;
  use.function = function;
  use.exposed = exposed;
  use.mean_us = mean_us;
  use.p50_us = mean_us;
  use.calls = 10;
  use.shape = shape;
  return use;
}

TEST(FunctionIndex, FindsEveryUseOnce) {
  Job job = bare_job(3);
  const uint32_t a = add_function(job, FunctionKind::kCompute);
  const uint32_t b = add_function(job, FunctionKind::kPython);
  const uint32_t unused = add_function(job, FunctionKind::kPython);
  for (size_t rank = 0; rank < 3; ++rank) {
    if (rank != 1) add_use(job, rank, use_of(a, 0.1F, 10));
    add_use(job, rank, use_of(b, 0.1F, 10));
  }
  const FunctionIndex index(job);
  ASSERT_EQ(index.uses(a).size(), 2U);
  EXPECT_EQ(index.uses(b).size(), 3U);
  EXPECT_TRUE(index.uses(unused).empty());
  EXPECT_EQ(index.uses(a)[1].rank, 2U);
  EXPECT_EQ(job.uses[index.uses(a)[1].use].function, a);
}

RC_GTEST_PROP(KernelSpeed, IsTimeOverTheUsualTimeOfTheSameKernel, ()) {
  const auto whole = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<size_t>(2, 20), rc::gen::inRange(1, 100));
  Job job = bare_job(whole.size());
  const uint32_t kernel = add_function(job, FunctionKind::kCompute, Workload::kMatrix);
  std::vector<double> others;
  for (size_t rank = 0; rank < whole.size(); ++rank) {
    add_use(job, rank, use_of(kernel, 0.4F, static_cast<float>(whole[rank])));
    if (rank > 0) others.push_back(whole[rank]);
  }
  const FunctionIndex index(job);
  const Subject subject({0}, whole.size());
  const double ratio = kernel_ratio(job, index, subject, KernelClass::kAny).value();
  RC_ASSERT(std::abs(ratio - whole[0] / median(others)) < 1e-4 * ratio);
  RC_ASSERT(kernel_ratio(job, index, subject, KernelClass::kMatrix) == ratio);
  RC_ASSERT(!kernel_ratio(job, index, subject, KernelClass::kMemoryBound).has_value());
}

TEST(KernelSpeed, EveryRankByItselfIsJudgedByWhatRunsAwayFromCollectives) {
  Job job = bare_job(4);
  const uint32_t kernel = add_function(job, FunctionKind::kCompute, Workload::kMatrix);
  const uint32_t own = add_function(job, FunctionKind::kCompute);
  for (size_t rank = 0; rank < 4; ++rank) {
    FunctionUse use = use_of(kernel, 0.4F, rank == 3 ? 20.0F : 10.0F);
    use.alone_us = rank == 1 ? 20.0F : 10.0F;  // rank 3 is slow beside collectives alone
    add_use(job, rank, use);
    use.function = own;
    if (rank == 0) add_use(job, rank, use);
  }
  const FunctionIndex index(job);
  const std::vector<double> excess = kernel_excess_shares(job, index, KernelClass::kAny);
  ASSERT_EQ(excess.size(), 4U);
  EXPECT_NEAR(excess[0], 0, 1e-6);
  EXPECT_NEAR(excess[1], 0.2, 1e-6);
  EXPECT_NEAR(excess[3], 0, 1e-6);
  EXPECT_NEAR(kernel_excess_shares(job, index, KernelClass::kMemoryBound)[1], 0, 1e-6);
}

TEST(KernelSpeed, OnlyTheSameWorkOnTheSameAcceleratorCompares) {
  Job job = bare_job(3);
  const uint32_t kernel = add_function(job, FunctionKind::kCompute, Workload::kMatrix);
  add_use(job, 0, use_of(kernel, 0.4F, 20));
  add_use(job, 1, use_of(kernel, 0.4F, 10, 2));  // other shapes
  add_use(job, 2, use_of(kernel, 0.4F, 10));
  job.ranks[2].device = add_word(job, "A100");
  const FunctionIndex index(job);
  EXPECT_FALSE(kernel_ratio(job, index, Subject({0}, 3), KernelClass::kAny).has_value());
  job.ranks[2].device = 0;
  EXPECT_NEAR(kernel_ratio(job, index, Subject({0}, 3), KernelClass::kAny).value(), 2, 1e-6);
  EXPECT_FALSE(kernel_ratio(job, index, Subject({0, 1, 2}, 3), KernelClass::kAny).has_value());
}

TEST(KernelSpeed, KernelsThatNoPeerRunsAreOthers) {
  Job job = bare_job(2);
  const uint32_t both = add_function(job, FunctionKind::kCompute);
  const uint32_t mine = add_function(job, FunctionKind::kCompute);
  add_use(job, 0, use_of(both, 0.3F, 10));
  add_use(job, 0, use_of(mine, 0.1F, 10));
  add_use(job, 1, use_of(both, 0.3F, 10));
  const FunctionIndex index(job);
  EXPECT_NEAR(other_kernels_share(job, index, Subject({0}, 2)), 0.25, 1e-6);
  EXPECT_EQ(other_kernels_share(job, index, Subject({1}, 2)), 0);
  EXPECT_EQ(other_kernels_share(job, index, Subject({0, 1}, 2)), 0);
}

}  // namespace
}  // namespace eroica
