#include "sample/gpu_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

SampledRank rank(int32_t number, int32_t local, std::map<std::string, std::string> visible = {}) {
  return {.rank = number,
          .pid = 100 + number,
          .host = "node",
          .local_rank = local,
          .gpus = GpuVendor::kNvidia,
          .visible_devices = std::move(visible)};
}

std::vector<OccupiedGpu> four_gpus() {
  std::vector<OccupiedGpu> gpus;
  for (int32_t i = 0; i < 4; ++i) gpus.push_back({{.index = i, .uuid = "GPU-" + std::to_string(11 * (i + 1))}, {}});
  return gpus;
}

TEST(AssignGpus, ByProcessesWhereverTheyRun) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[3].processes = {{{100, 50'000}}};
  gpus[1].processes = {{{7, 1}, {101, 50'000}}};
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, {"node", {rank(0, 0), rank(1, 1)}, 1}, true),
              ElementsAre(Pair(0, 3U), Pair(1, 1U)));
}

TEST(AssignGpus, AContextOnTheFirstGpuIsNotWhereARankComputes) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[0].processes = {{{100, 60'000}, {101, 500}, {102, 500}}};
  gpus[1].processes = {{{101, 60'000}}};
  gpus[2].processes = {{{102, 60'000}}};
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, {"node", {rank(0, 0), rank(1, 1), rank(2, 2)}, 1}, true),
              ElementsAre(Pair(0, 0U), Pair(1, 1U), Pair(2, 2U)));
}

TEST(AssignGpus, ARankWithoutAGpuBesideOthers) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[1].processes = {{{101, 1}}};
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, {"node", {rank(0, 0), rank(1, 1)}, 1}, true),
              ElementsAre(Pair(1, 1U)));
}

TEST(AssignGpus, NumbersOfAnotherNamespaceAreNobodys) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[3].processes = {{{100, 50'000}}};  // some process of the host
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, {"node", {rank(0, 0), rank(1, 1)}, 1}, false),
              ElementsAre(Pair(0, 0U), Pair(1, 1U)));
}

TEST(AssignGpus, ByWhatRanksAreToldToSee) {
  const std::map<std::string, std::string> all = {{"CUDA_VISIBLE_DEVICES", "2, 3"}};
  EXPECT_THAT(assign_gpus(four_gpus(), GpuVendor::kNvidia,
                          {"node", {rank(0, 0, all), rank(1, 1, all), rank(2, 2, all)}, 1}, true),
              ElementsAre(Pair(0, 2U), Pair(1, 3U)));
  const SampledJob own = {
      "node", {rank(0, 0, {{"CUDA_VISIBLE_DEVICES", "3"}}), rank(1, 1, {{"CUDA_VISIBLE_DEVICES", "1"}})}, 1};
  EXPECT_THAT(assign_gpus(four_gpus(), GpuVendor::kNvidia, own, true), ElementsAre(Pair(0, 3U), Pair(1, 1U)));
  const std::map<std::string, std::string> names = {{"CUDA_VISIBLE_DEVICES", "GPU-33,GPU-1,GPU"}};
  EXPECT_THAT(assign_gpus(four_gpus(), GpuVendor::kNvidia,
                          {"node", {rank(0, 0, names), rank(1, 1, names), rank(2, 2, names)}, 1}, true),
              ElementsAre(Pair(0, 2U), Pair(1, 0U)));
}

SampledRank amd_rank(int32_t number, int32_t local, std::map<std::string, std::string> visible) {
  SampledRank one = rank(number, local, std::move(visible));
  one.gpus = GpuVendor::kAmd;
  return one;
}

TEST(AssignGpus, OnAmdOneListCountsWithinTheOther) {
  const auto gpu_of = [](std::map<std::string, std::string> visible, int32_t local) {
    const std::map<int32_t, size_t> found =
        assign_gpus(four_gpus(), GpuVendor::kAmd, {"node", {amd_rank(0, local, std::move(visible))}, 1}, true);
    return found.contains(0) ? static_cast<int>(found.at(0)) : -1;
  };
  EXPECT_EQ(gpu_of({{"ROCR_VISIBLE_DEVICES", "1"}}, 0), 1);
  EXPECT_EQ(gpu_of({{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1,0"}}, 0), 3);
  EXPECT_EQ(gpu_of({{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1,0"}}, 1), 2);
  EXPECT_EQ(gpu_of({{"ROCR_VISIBLE_DEVICES", "3"}, {"HIP_VISIBLE_DEVICES", "0"}}, 5), 3);
  EXPECT_EQ(gpu_of({{"ROCR_VISIBLE_DEVICES", "3"}, {"HIP_VISIBLE_DEVICES", "3"}}, 0), -1);
  EXPECT_EQ(gpu_of({{"ROCR_VISIBLE_DEVICES", "GPU-33,GPU-11"}, {"CUDA_VISIBLE_DEVICES", "1"}}, 0), 0);
  EXPECT_EQ(gpu_of({{"HIP_VISIBLE_DEVICES", "2"}, {"CUDA_VISIBLE_DEVICES", "1"}}, 0), 2);
}

TEST(AssignGpus, OfAMixedHostEachRankHasThoseOfItsVendor) {
  const SampledJob job = {"node", {rank(0, 0), amd_rank(1, 1, {})}, 1};
  EXPECT_THAT(assign_gpus(four_gpus(), GpuVendor::kNvidia, job, true), ElementsAre(Pair(0, 0U)));
  EXPECT_THAT(assign_gpus(four_gpus(), GpuVendor::kAmd, job, true), ElementsAre(Pair(1, 1U)));
}

TEST(AssignGpus, AsMuchMemoryOnTwoIsNeither) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  const SampledJob job = {"node", {rank(0, -1), rank(1, 1)}, 1};
  gpus[1].processes = gpus[2].processes = {{{100, 500}, {101, 500}}};
  // One of the two is where rank 1 was told to go.
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, job, true), ElementsAre(Pair(1, 1U)));
  // Where one does not tell, it may be the one with most.
  gpus[1].processes = {{{100, 500}, {101, std::nullopt}}};
  gpus[2].processes = {{{100, std::nullopt}, {101, 700}}};
  gpus[3].processes = {{{100, 900}, {101, 1}}};
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, job, true), ElementsAre(Pair(1, 1U)));
  gpus[1].processes = {};
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, job, true), ElementsAre(Pair(1, 2U)));
  gpus[2].processes = {{{100, std::nullopt}}};
  gpus[3].processes = {};
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, job, true), ElementsAre(Pair(0, 2U)));
}

TEST(AssignGpus, InstancesOfOneGpuAreThatGpu) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[1].processes = {{{100, 300}, {100, 300}}};
  gpus[2].processes = {{{100, 500}}};
  EXPECT_THAT(assign_gpus(gpus, GpuVendor::kNvidia, {"node", {rank(0, -1)}, 1}, true), ElementsAre(Pair(0, 1U)));
}

TEST(AssignGpus, NothingIsGuessed) {
  SampledRank on_cpus = rank(0, 0);
  on_cpus.gpus = GpuVendor::kNone;
  EXPECT_THAT(assign_gpus(four_gpus(), GpuVendor::kNvidia, {"node", {on_cpus, rank(1, -1), rank(9, 9)}, 1}, true),
              IsEmpty());
  EXPECT_THAT(
      assign_gpus(four_gpus(), GpuVendor::kNvidia, {"node", {rank(0, 0, {{"CUDA_VISIBLE_DEVICES", ""}})}, 1}, true),
      IsEmpty());
  EXPECT_THAT(assign_gpus({}, GpuVendor::kNvidia, {"node", {rank(0, 0)}, 1}, true), IsEmpty());
}

}  // namespace
}  // namespace eroica::testing
