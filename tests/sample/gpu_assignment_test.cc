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
          .on_gpu = true,
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
  EXPECT_THAT(assign_gpus(gpus, {"node", {rank(0, 0), rank(1, 1)}, 1}, true), ElementsAre(Pair(0, 3U), Pair(1, 1U)));
}

TEST(AssignGpus, AContextOnTheFirstGpuIsNotWhereARankComputes) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[0].processes = {{{100, 60'000}, {101, 500}, {102, 500}}};
  gpus[1].processes = {{{101, 60'000}}};
  gpus[2].processes = {{{102, 60'000}}};
  EXPECT_THAT(assign_gpus(gpus, {"node", {rank(0, 0), rank(1, 1), rank(2, 2)}, 1}, true),
              ElementsAre(Pair(0, 0U), Pair(1, 1U), Pair(2, 2U)));
}

TEST(AssignGpus, ARankWithoutAGpuBesideOthers) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[1].processes = {{{101, 1}}};
  EXPECT_THAT(assign_gpus(gpus, {"node", {rank(0, 0), rank(1, 1)}, 1}, true), ElementsAre(Pair(1, 1U)));
}

TEST(AssignGpus, NumbersOfAnotherNamespaceAreNobodys) {
  std::vector<OccupiedGpu> gpus = four_gpus();
  gpus[3].processes = {{{100, 50'000}}};  // some process of the host
  EXPECT_THAT(assign_gpus(gpus, {"node", {rank(0, 0), rank(1, 1)}, 1}, false), ElementsAre(Pair(0, 0U), Pair(1, 1U)));
}

TEST(AssignGpus, ByWhatRanksAreToldToSee) {
  const std::map<std::string, std::string> all = {{"CUDA_VISIBLE_DEVICES", "2, 3"}};
  EXPECT_THAT(assign_gpus(four_gpus(), {"node", {rank(0, 0, all), rank(1, 1, all), rank(2, 2, all)}, 1}, true),
              ElementsAre(Pair(0, 2U), Pair(1, 3U)));
  const SampledJob own = {
      "node", {rank(0, 0, {{"CUDA_VISIBLE_DEVICES", "3"}}), rank(1, 1, {{"CUDA_VISIBLE_DEVICES", "1"}})}, 1};
  EXPECT_THAT(assign_gpus(four_gpus(), own, true), ElementsAre(Pair(0, 3U), Pair(1, 1U)));
  const std::map<std::string, std::string> names = {{"CUDA_VISIBLE_DEVICES", "GPU-33,GPU-1,GPU"}};
  EXPECT_THAT(assign_gpus(four_gpus(), {"node", {rank(0, 0, names), rank(1, 1, names), rank(2, 2, names)}, 1}, true),
              ElementsAre(Pair(0, 2U), Pair(1, 0U)));
  EXPECT_THAT(assign_gpus(four_gpus(), {"node", {rank(0, 0, {{"ROCR_VISIBLE_DEVICES", "1"}})}, 1}, true),
              ElementsAre(Pair(0, 1U)));
}

TEST(AssignGpus, NothingIsGuessed) {
  SampledRank on_cpus = rank(0, 0);
  on_cpus.on_gpu = false;
  EXPECT_THAT(assign_gpus(four_gpus(), {"node", {on_cpus, rank(1, -1), rank(9, 9)}, 1}, true), IsEmpty());
  EXPECT_THAT(assign_gpus(four_gpus(), {"node", {rank(0, 0, {{"CUDA_VISIBLE_DEVICES", ""}})}, 1}, true), IsEmpty());
  EXPECT_THAT(assign_gpus({}, {"node", {rank(0, 0)}, 1}, true), IsEmpty());
}

}  // namespace
}  // namespace eroica::testing
