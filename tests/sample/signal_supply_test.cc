#include "sample/signal_supply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "diagnose/vocabulary.h"
#include "sample/nvml_library.h"
#include "support/sampled_gpus.h"

namespace eroica::testing {
namespace {

using Kind = SignalState::Kind;

class SignalSupplyTest : public SampledGpus {
 protected:
  [[nodiscard]] static GpuFeeds nvml(const StandIn& library) {
    return {.counters = {std::make_shared<GpuFeed>(
                [path = library.path()](CallWatch& watch) { return nvml_library(watch, path); })},
            .fine = nullptr};
  }
  void put(const std::string& path, const std::string& text) const {
    const std::string whole = files().path(path);
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    std::ofstream(whole) << text;
  }
};

TEST_F(SignalSupplyTest, ABareMachineSaysOfEachSignalWhyNot) {
  const SignalSupply supply = signal_supply(SystemFiles("/nowhere"), {}, kLong);
  for (const auto& [metric, state] : supply) {
    const KnownFact* fact = find_fact(metric);
    ASSERT_NE(fact, nullptr) << metric;
    EXPECT_TRUE(is_signal(*fact)) << metric;
    EXPECT_EQ(state.kind == Kind::kSupplied, state.why.empty()) << metric;
  }
  for (const char* metric : {"cpu.run", "cpu.throttled", "pressure.io", "net.transmit", "memory.swap_in"}) {
    EXPECT_EQ(supply.at(metric).kind, Kind::kNotTold) << metric;
  }
  EXPECT_EQ(supply.at("gpu.sm_clock").kind, Kind::kNothingThere);
  EXPECT_EQ(supply.at("gpu.sm_clock").why, "no GPU here");
  EXPECT_EQ(supply.at("disk.await").kind, Kind::kNothingThere);
  EXPECT_FALSE(supply.contains("python.gc"));  // nothing reads it
}

TEST_F(SignalSupplyTest, FilesThatAreThereAreEnough) {
  put("/proc/self/schedstat", "1 2 3\n");
  put("/proc/self/cgroup", "0::/job\n");
  put("/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  put("/sys/fs/cgroup/job/cpu.stat", "usage_usec 1\nnr_throttled 0\nthrottled_usec 0\n");
  put("/proc/vmstat", "pswpin 3\n");
  put("/sys/block/nvme0n1/size", "1\n");
  put("/proc/diskstats", "");
  const SignalSupply supply = signal_supply(files(), {}, kLong);
  for (const char* metric :
       {"cpu.run", "cpu.main_thread_runnable_wait", "cpu.throttled", "memory.swap_in", "disk.await"}) {
    EXPECT_EQ(supply.at(metric).why, "") << metric;
  }
  EXPECT_EQ(supply.at("memory.compact_stall").why, "not in /proc/vmstat");
  EXPECT_NE(supply.at("memory.refaults").why, "");
}

TEST_F(SignalSupplyTest, GpusAreAsked) {
  const StandIn library("nvml", "libnvidia-ml.so.1", R"(
device GPU-11 00000000:17:00.0 NVIDIA H100
set celsius 0 50
device GPU-22 00000000:2a:00.0 NVIDIA H100
set sm_mhz 0 1980
process 100 5
)");
  const SignalSupply supply = signal_supply(files(), nvml(library), kLong);
  EXPECT_EQ(supply.at("gpu.temperature").kind, Kind::kSupplied);
  EXPECT_EQ(supply.at("gpu.sm_clock").kind, Kind::kSupplied);  // one of them tells it
  EXPECT_EQ(supply.at("gpu.foreign_processes").kind, Kind::kSupplied);
  EXPECT_EQ(supply.at("gpu.ecc").kind, Kind::kNotTold);
  EXPECT_EQ(supply.at("gpu.ecc").why, "these GPUs do not tell it");
  enter_container();
  EXPECT_EQ(signal_supply(files(), nvml(library), kLong).at("gpu.foreign_processes").why,
            "not in the host's pid namespace");
}

TEST_F(SignalSupplyTest, ALibraryThatDoesNotAnswerIsNotWaitedFor) {
  const StandIn library("nvml", "libnvidia-ml.so.1", "hang nvmlInit_v2\n");
  const SignalSupply supply = signal_supply(files(), nvml(library), 100'000'000);
  EXPECT_EQ(supply.at("gpu.sm_clock").kind, Kind::kNotTold);
  EXPECT_THAT(supply.at("gpu.sm_clock").why, ::testing::HasSubstr("does not come back"));
  library.release();
}

}  // namespace
}  // namespace eroica::testing
