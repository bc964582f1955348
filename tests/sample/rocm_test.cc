#include "sample/rocm_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sampled_gpus.h"

namespace eroica::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

using RocmTest = SampledGpus;

std::shared_ptr<GpuFeed> rocm_feed(const StandIn& library, GpuFeed::Deadlines deadlines = {}) {
  return std::make_shared<GpuFeed>([path = library.path()](CallWatch& watch) { return rocm_library(watch, path); },
                                   deadlines);
}

// Throttled by its power limit, then by the heat of its hotspot (bit 36).
constexpr const char* kMi250 = R"(
device - - AMD Instinct MI250X
set id 0 4660
set bus 0 49408
set compute_mhz 0 1700 1 1200
set memory_mhz 0 1600
set memory_activity 0 35
set throttled_by 0 1 0.5 1 0.5 68719476736
set watts 0 480
set cap_microwatts 0 560000000
set millidegrees.1 0 98000
set millidegrees.0 0 70000
set corrected 0 1 1 5
set uncorrected 0 0
set replays 0 7 1 9
set pcie_width 0 16
set pcie_speed 0 160
process 100 64000000000
process 4242 1
device - - AMD Instinct MI250X
)";

TEST_F(RocmTest, WhatRulesAskOf) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1", kMi250);
  sample(library, rocm_feed(library), job());
  EXPECT_EQ(last("gpu.sm_clock"), 1200e6);
  EXPECT_EQ(last("gpu.mem_clock"), 1600e6);
  EXPECT_EQ(last("gpu.dram_active"), 0.35);
  EXPECT_EQ(last("gpu.power"), 480);
  EXPECT_EQ(last("gpu.power_limit"), 560);
  EXPECT_EQ(last("gpu.temperature"), 98);
  ASSERT_NE(series("gpu.throttle_power"), nullptr);
  EXPECT_EQ(series("gpu.throttle_power")->samples.front().value, 1);
  EXPECT_EQ(last("gpu.throttle_power"), 0);
  EXPECT_EQ(series("gpu.throttle_thermal")->samples.front().value, 0);
  EXPECT_EQ(last("gpu.throttle_thermal"), 1);
  EXPECT_EQ(last("gpu.throttle_brake"), 0);
  EXPECT_EQ(last("gpu.pcie_width"), 16);
  EXPECT_EQ(last("gpu.pcie_generation"), 4);
  EXPECT_NEAR(total("gpu.pcie_replay"), 2, 1e-6);
  EXPECT_NEAR(total("gpu.ecc"), 4, 1e-6);
  EXPECT_EQ(last("gpu.foreign_processes"), 1);
  EXPECT_EQ(last("gpu.sm_clock", "host node/gpu 1"), std::nullopt);
  EXPECT_EQ(findings().gpus.at(0).model, "AMD Instinct MI250X");
}

TEST_F(RocmTest, IdentitiesAsOtherProgramsWriteThem) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1", kMi250);
  const auto feed = rocm_feed(library);
  feed->start();
  ASSERT_TRUE(feed->wait_idle(kLong));
  ASSERT_EQ(feed->gpus().size(), 2U);
  EXPECT_EQ(feed->gpus()[0].uuid, "GPU-0000000000001234");
  EXPECT_EQ(feed->gpus()[0].bus_id, "0000:c1:00.0");
  EXPECT_EQ(feed->gpus()[1].uuid, "");
}

TEST_F(RocmTest, AChipOfPartsDoesNotSayWhatThrottlesIt) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1", R"(
device - - AMD Instinct MI300X
set content 0 5
set part_mhz.0 0 2000
set part_mhz.1 0 1000
set locked_clocks 0 3
set throttled_by 0 1
set mean_microwatts 0 700000000
set millidegrees.0 0 51000
process 100 64000000000
)");
  sample(library, rocm_feed(library), job());
  EXPECT_EQ(last("gpu.sm_clock"), 1500e6);
  EXPECT_EQ(last("gpu.clock_locked"), 1);
  EXPECT_EQ(last("gpu.power"), 700);
  EXPECT_EQ(last("gpu.temperature"), 51);
  for (const char* metric : {"gpu.throttle_power", "gpu.mem_clock", "gpu.dram_active", "gpu.pcie_width",
                             "gpu.pcie_generation", "gpu.ecc", "gpu.power_limit"}) {
    EXPECT_EQ(last(metric), std::nullopt) << metric;
  }
}

TEST_F(RocmTest, AFunctionThatFailsCostsItsSignalsAlone) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1",
                        std::string(kMi250) + "fail rsmi_dev_gpu_metrics_info_get 3\n");
  sample(library, rocm_feed(library), job());
  EXPECT_EQ(last("gpu.sm_clock"), std::nullopt);
  EXPECT_EQ(last("gpu.temperature"), 98);
}

constexpr const char* kTwoGpus = R"(
device - - AMD Instinct MI250X
set watts 0 100
process 100 500
device - - AMD Instinct MI250X
set watts 0 200
process 100 64000000000
)";

TEST_F(RocmTest, WhereARankHasMostOfItsMemory) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1", kTwoGpus);
  sample(library, rocm_feed(library), job());
  EXPECT_EQ(last("gpu.power"), std::nullopt);
  EXPECT_EQ(last("gpu.power", "host node/gpu 1"), 200);
}

TEST_F(RocmTest, MemoryOfAllGpusTogetherTellsNone) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1",
                        std::string(kTwoGpus) + "fail rsmi_compute_process_info_by_device_get 2\n");
  sample(library, rocm_feed(library), job());
  EXPECT_EQ(last("gpu.power"), std::nullopt);
  EXPECT_EQ(last("gpu.power", "host node/gpu 1"), std::nullopt);
}

TEST_F(RocmTest, WithoutADriverItIsNoProblem) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1", "fail rsmi_init 8\n");
  sample(library, rocm_feed(library), job());
  EXPECT_THAT(findings().missing, Each(Not(HasSubstr("GPU"))));
}

TEST_F(RocmTest, OtherProblemsAreTold) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1", "fail rsmi_init 4\n");
  sample(library, rocm_feed(library), job());
  EXPECT_THAT(findings().missing, Contains("AMD GPUs (rsmi_init gives 4)"));
}

TEST_F(RocmTest, ACallThatHangsIsTold) {
  const StandIn library("rocm_smi", "librocm_smi64.so.1", "hang rsmi_num_monitor_devices\n");
  const auto feed = rocm_feed(library, {.start_ns = 0, .call_ns = kLong});
  HostSampler sampler(files(), job(), free_of_charge, {{feed}, nullptr});
  while (feed->hung_call() != "rsmi_num_monitor_devices") std::this_thread::yield();
  ASSERT_TRUE(becomes(*feed, GpuFeed::State::kHung));
  sampler.sample(kBegin);
  EXPECT_THAT(sampler.findings().missing, Contains("AMD GPUs (rsmi_num_monitor_devices does not come back)"));
}

}  // namespace
}  // namespace eroica::testing
