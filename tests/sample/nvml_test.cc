#include "sample/nvml_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/standard_rules.h"
#include "diagnose/vocabulary.h"
#include "support/sampled_gpus.h"

namespace eroica::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A GPU of the newest kind, which held its clock down for heat 0.4 s in the second that is looked at.
constexpr const char* kHopper = R"(
device GPU-11 00000000:17:00.0 NVIDIA H100 80GB HBM3
set sm_mhz 0 1980 1 1700
set mem_mhz 0 2619
set field.186 0 650000
set limit_mw 0 700000
set celsius 0 86 1 88
set reasons 0 0
set field.74 0 5000000000
set field.76 0 0
set field.269 0 1000 1 300001000
set field.270 0 2000 1 100002000
set field.271 0 7
set field.197 0 1000000000 1 3000000000
set field.198 0 500
set field.138 0 1000 1 2000
set gpm.2 0 91
set gpm.5 0 45.5
set gpm.10 0 30
set gpm.20 0 77
set ecc_corrected 0 10 1 13
set ecc_other 0 1
set remapped_rows 0 2
set pcie_generation 0 5
set pcie_width 0 16
set pcie_replays 0 4 1 14
set link.0 0 1
set link.1 0 1
set link.2 0 0
set field.161 0 5
set field.162 0 0
set field.163 0 0
set field.161.1 0 1 1 21
set field.162.1 0 0
set field.163.1 0 0
set field.161.2 0 0
set field.162.2 0 0
set field.163.2 0 0
set xids 0 0 1 1
process 100 70000000000
process 4242 1000
)";

std::shared_ptr<GpuFeed> nvml_feed(const StandIn& library, GpuFeed::Deadlines deadlines = {}) {
  return std::make_shared<GpuFeed>([path = library.path()](CallWatch& watch) { return nvml_library(watch, path); },
                                   deadlines);
}

using NvmlTest = SampledGpus;

TEST_F(NvmlTest, AllThatRulesAskOf) {
  const StandIn library("nvml", "libnvidia-ml.so.1", kHopper);
  sample(library, nvml_feed(library), job());
  EXPECT_EQ(last("gpu.sm_clock"), 1700e6);
  EXPECT_EQ(last("gpu.mem_clock"), 2619e6);
  EXPECT_EQ(last("gpu.power"), 650);
  EXPECT_EQ(last("gpu.power_limit"), 700);
  EXPECT_EQ(last("gpu.temperature"), 88);
  EXPECT_NEAR(total("gpu.throttle_thermal"), 0.4, 1e-3);
  EXPECT_EQ(last("gpu.throttle_power"), 0);
  EXPECT_EQ(last("gpu.throttle_brake"), 0);
  EXPECT_EQ(last("gpu.throttle_sync_boost"), 0);
  EXPECT_EQ(last("gpu.clock_locked"), 0);
  EXPECT_EQ(last("gpu.sm_active"), 0.91);
  EXPECT_EQ(last("gpu.tensor_active"), 0.455);
  EXPECT_EQ(last("gpu.dram_active"), 0.3);
  EXPECT_NEAR(total("gpu.pcie_transmit"), 2e9, 1);
  EXPECT_EQ(last("gpu.pcie_receive"), 0);
  EXPECT_NEAR(total("gpu.nvlink_transmit"), 1000 * 1024, 1);
  EXPECT_EQ(last("gpu.pcie_generation"), 5);
  EXPECT_EQ(last("gpu.pcie_width"), 16);
  EXPECT_NEAR(total("gpu.pcie_replay"), 10, 1e-6);
  EXPECT_EQ(last("gpu.nvlink_up"), 2);
  EXPECT_NEAR(total("gpu.nvlink_error"), 20, 1e-6);
  EXPECT_NEAR(total("gpu.ecc"), 3, 1e-6);
  EXPECT_NEAR(total("gpu.xid"), 1, 1e-6);
  EXPECT_EQ(last("gpu.remapped_rows"), 2);
  EXPECT_EQ(last("gpu.foreign_processes"), 1);
  const SourceFindings found = findings();
  ASSERT_TRUE(found.gpus.contains(0));
  EXPECT_EQ(found.gpus.at(0).index, 0);
  EXPECT_EQ(found.gpus.at(0).model, "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(found.missing, ::testing::Each(::testing::Not(HasSubstr("GPU"))));
}

TEST_F(NvmlTest, NamesAndUnitsAreThoseOfTheRules) {
  for (size_t i = 0; i < kGpuSignals; ++i) {
    const GpuSignalName& name = gpu_signal_name(static_cast<GpuSignal>(i));
    const KnownFact* fact = find_fact(name.metric);
    ASSERT_NE(fact, nullptr) << name.metric;
    EXPECT_EQ(fact->unit, name.unit) << name.metric;
    const bool used = std::ranges::any_of(embedded_rules(), [&](const EmbeddedRules& rules) {
      return rules.text.find('"' + std::string(name.metric) + '"') != std::string_view::npos;
    });
    EXPECT_TRUE(used) << "no rule asks of " << name.metric;
  }
}

TEST_F(NvmlTest, TimeStampsAreTheSamplers) {
  const StandIn library("nvml", "libnvidia-ml.so.1", kHopper);
  sample(library, nvml_feed(library), job());
  const SampleSeries* clock = series("gpu.sm_clock");
  ASSERT_NE(clock, nullptr);
  const int64_t base_ns = samples().base_unix_ns;
  // Not before it was asked for, nor after it was taken.
  EXPECT_GE(base_ns + clock->samples.front().time_ns, kBegin + kStep);
  EXPECT_LE(base_ns + clock->samples.front().time_ns, kBegin + 2 * kStep);
  for (size_t i = 1; i < clock->samples.size(); ++i) {
    EXPECT_GE(clock->samples[i].time_ns, clock->samples[i - 1].time_ns);
  }
}

TEST_F(NvmlTest, AnOldDriverTellsLess) {
  const StandIn library("nvml_old", "libnvidia-ml.so.1", R"(
device GPU-11 00000000:17:00.0 Tesla V100
set sm_mhz 0 1400
set power_mw 0 250000
set celsius 0 60
set reasons 0 130
set violation.1 0 0 1 500000000
set pcie_sent_kbs 0 2000
set pcie_received_kbs 0 3000
set link.0 0 1
set link_errors.0.0 0 0 1 3
set link_errors.0.1 0 0
set link_errors.0.2 0 0
set link_errors.0.3 0 0
process 100 70000000000
)");
  sample(library, nvml_feed(library), job());
  EXPECT_EQ(last("gpu.power"), 250);
  EXPECT_EQ(last("gpu.temperature"), 60);
  EXPECT_NEAR(total("gpu.throttle_thermal"), 0.5, 1e-3);  // counted
  EXPECT_EQ(last("gpu.throttle_brake"), 1);               // as it is now
  EXPECT_EQ(last("gpu.throttle_power"), 0);
  EXPECT_EQ(last("gpu.clock_locked"), 1);
  EXPECT_EQ(last("gpu.pcie_transmit"), 2e6);
  EXPECT_EQ(last("gpu.pcie_receive"), 3e6);
  EXPECT_EQ(last("gpu.nvlink_up"), 1);
  EXPECT_NEAR(total("gpu.nvlink_error"), 3, 1e-6);
  EXPECT_EQ(last("gpu.sm_active"), std::nullopt);
  EXPECT_EQ(last("gpu.ecc"), std::nullopt);
  EXPECT_EQ(last("gpu.xid"), std::nullopt);
}

TEST_F(NvmlTest, OnlyTheJobsGpus) {
  const StandIn library("nvml", "libnvidia-ml.so.1", R"(
device GPU-11 00000000:17:00.0 NVIDIA H100
set sm_mhz 0 1
device GPU-22 00000000:2a:00.0 NVIDIA H100
set sm_mhz 0 2
process 100 5
)");
  sample(library, nvml_feed(library), job());
  EXPECT_EQ(last("gpu.sm_clock"), std::nullopt);
  EXPECT_EQ(last("gpu.sm_clock", "host node/gpu 1"), 2e6);
  EXPECT_EQ(last("gpu.foreign_processes", "host node/gpu 1"), 0);
}

// As in vGPU and MIG modes: a rank that has memory on both may compute on either.
TEST_F(NvmlTest, MemoryThatIsNotToldTellsNoGpu) {
  const StandIn library("nvml", "libnvidia-ml.so.1", R"(
device GPU-00 00000000:0a:00.0 NVIDIA A100
set sm_mhz 0 1000
process 100 18446744073709551615
device GPU-11 00000000:17:00.0 NVIDIA A100
set sm_mhz 0 2000
process 100 18446744073709551615
)");
  sample(library, nvml_feed(library), job());
  EXPECT_EQ(last("gpu.sm_clock"), std::nullopt);
  EXPECT_EQ(last("gpu.sm_clock", "host node/gpu 1"), std::nullopt);
  EXPECT_TRUE(findings().gpus.empty());
}

TEST_F(NvmlTest, InAContainerProcessesAreNotKnown) {
  enter_container();
  const StandIn library("nvml", "libnvidia-ml.so.1", kHopper);
  SampledJob described = job();
  described.ranks[0].local_rank = 0;
  described.ranks[0].gpus = GpuVendor::kNvidia;
  sample(library, nvml_feed(library), described);
  EXPECT_EQ(last("gpu.sm_clock"), 1700e6);
  EXPECT_EQ(last("gpu.foreign_processes"), std::nullopt);
  EXPECT_THAT(findings().missing, Contains(HasSubstr("pid namespace")));
}

TEST_F(NvmlTest, AFunctionThatFailsCostsItsSignalAlone) {
  const StandIn library("nvml", "libnvidia-ml.so.1", std::string(kHopper) + "fail nvmlDeviceGetClockInfo 15\n");
  sample(library, nvml_feed(library), job());
  EXPECT_EQ(last("gpu.sm_clock"), std::nullopt);
  EXPECT_EQ(last("gpu.temperature"), 88);
}

TEST_F(NvmlTest, ALibraryWithoutADriverIsNoProblem) {
  const StandIn library("nvml", "libnvidia-ml.so.1", "fail nvmlInit_v2 9\n");
  sample(library, nvml_feed(library), job());
  EXPECT_THAT(findings().missing, ::testing::Each(::testing::Not(HasSubstr("GPU"))));
}

TEST_F(NvmlTest, OneThatDoesNotFitTheDriverIsTold) {
  const StandIn library("nvml", "libnvidia-ml.so.1", "fail nvmlInit_v2 18\n");
  sample(library, nvml_feed(library), job());
  EXPECT_THAT(findings().missing, Contains("NVIDIA GPUs (nvmlInit gives 18)"));
}

TEST_F(NvmlTest, NoLibrary) {
  const auto feed = std::make_shared<GpuFeed>([](CallWatch& watch) { return nvml_library(watch, "/nowhere/libx.so"); });
  feed->start();
  ASSERT_TRUE(feed->wait_idle(kLong));
  EXPECT_THAT(feed->gpus(), IsEmpty());
  EXPECT_EQ(feed->problem(), "");
}

TEST_F(NvmlTest, ACallThatHangsIsToldAndStopsNobody) {
  const StandIn library("nvml", "libnvidia-ml.so.1", std::string(kHopper) + "hang nvmlDeviceGetPcieReplayCounter\n");
  const auto feed = nvml_feed(library, {.start_ns = kLong, .call_ns = 1'000'000});
  HostSampler sampler(files(), job(), free_of_charge, {{feed}, nullptr});
  ASSERT_TRUE(feed->wait_idle(kLong));
  sampler.sample(kBegin);
  ASSERT_TRUE(becomes(*feed, GpuFeed::State::kHung));
  EXPECT_EQ(feed->hung_call(), "nvmlDeviceGetPcieReplayCounter");
  sampler.sample(kBegin + kSecond);  // comes back
  EXPECT_THAT(sampler.findings().missing, Contains("NVIDIA GPUs (nvmlDeviceGetPcieReplayCounter does not come back)"));
  EXPECT_FALSE(feed->begin({0}, {GpuPace::kFast}));
  library.release();
  ASSERT_TRUE(feed->wait_idle(kLong));
  EXPECT_EQ(feed->state(), GpuFeed::State::kIdle);
}

TEST_F(NvmlTest, AStartThatHangsOutlivesItsFeed) {
  const StandIn library("nvml", "libnvidia-ml.so.1", "hang nvmlInit_v2\n");
  auto feed = nvml_feed(library, {.start_ns = 1'000'000, .call_ns = kLong});
  {
    HostSampler sampler(files(), job(), free_of_charge, {{feed}, nullptr});
    ASSERT_TRUE(becomes(*feed, GpuFeed::State::kHung));
    sampler.sample(kBegin);
    EXPECT_THAT(sampler.findings().missing, Contains("NVIDIA GPUs (nvmlInit_v2 does not come back)"));
  }
  feed.reset();  // comes back
}

}  // namespace
}  // namespace eroica::testing
