#include "sample/dcgm_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample/nvml_library.h"
#include "support/sampled_gpus.h"

namespace eroica::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// The second one is the job's; neither tells of its tensor cores, nor the first one of anything.
constexpr const char* kGpus = R"(
device GPU-00 00000000:0a:00.0 NVIDIA A100
device GPU-11 00000000:17:00.0 NVIDIA A100
set sm_mhz 0 1410
set dcgm.1002 0 0.75
set dcgm.1005 0 0.5
set dcgm.1011 0 123000000000
process 100 70000000000
)";

class DcgmTest : public SampledGpus {
 protected:
  explicit DcgmTest(const std::string& more = "") : nvml_("nvml", "libnvidia-ml.so.1", kGpus + more) {}

  void sample_both() {
    const auto counters =
        std::make_shared<GpuFeed>([path = nvml_.path()](CallWatch& watch) { return nvml_library(watch, path); });
    const auto fine =
        std::make_shared<GpuFeed>([path = dcgm_.path()](CallWatch& watch) { return dcgm_library(watch, path); });
    sampler_.emplace(files(), job(), free_of_charge, GpuFeeds{{counters}, fine});
    for (int64_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(counters->wait_idle(kLong));
      ASSERT_TRUE(fine->wait_idle(kLong));
      sampler_->sample(kBegin + i * kSecond / 50);
    }
    sampler_->finish(kBegin + kSecond / 10);
    ASSERT_TRUE(fine->wait_idle(kLong));
    EXPECT_EQ(dcgm_.ask("eroica_stand_in_enabled"), 0);
  }

  StandIn nvml_;
  StandIn dcgm_{"dcgm", "libdcgm.so.4"};
};

class DcgmWithoutEngine : public DcgmTest {
 protected:
  DcgmWithoutEngine() : DcgmTest("fail dcgmConnect -21\n") {}
};
class DcgmThatRestarts : public DcgmTest {
 protected:
  DcgmThatRestarts() : DcgmTest("set restart_s 0 1\nset dcgm.1002 1 0.25\n") {}
};
class DcgmThatRefuses : public DcgmTest {
 protected:
  DcgmThatRefuses() : DcgmTest("fail dcgmWatchFields -33\n") {}
};

TEST_F(DcgmTest, UseOfTheJobsGpus) {
  sample_both();
  const std::string gpu = "host node/gpu 1";
  EXPECT_EQ(last("gpu.sm_active", gpu), 0.75);
  EXPECT_EQ(last("gpu.dram_active", gpu), 0.5);
  EXPECT_EQ(last("gpu.nvlink_transmit", gpu), 123e9);
  EXPECT_EQ(last("gpu.tensor_active", gpu), std::nullopt);  // blank
  EXPECT_EQ(last("gpu.sm_clock", gpu), 1410e6);
  EXPECT_EQ(last("gpu.sm_active", "host node/gpu 0"), std::nullopt);
}

TEST_F(DcgmWithoutEngine, IsTold) {
  sample_both();
  EXPECT_THAT(sampler_->findings().missing, Contains("use of NVIDIA GPUs by DCGM (no DCGM engine runs here)"));
}

TEST_F(DcgmThatRestarts, ItsGpusAreFoundAndWatchedAgain) {
  const auto counters =
      std::make_shared<GpuFeed>([path = nvml_.path()](CallWatch& watch) { return nvml_library(watch, path); });
  const auto fine =
      std::make_shared<GpuFeed>([path = dcgm_.path()](CallWatch& watch) { return dcgm_library(watch, path); });
  sampler_.emplace(files(), job(), free_of_charge, GpuFeeds{{counters}, fine});
  int64_t at_ns = kBegin;
  const auto sample_until = [&](double use) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLong);
    while (last("gpu.sm_active", "host node/gpu 1") != use && std::chrono::steady_clock::now() < deadline) {
      ASSERT_TRUE(counters->wait_idle(kLong));
      ASSERT_TRUE(fine->wait_idle(kLong));
      sampler_->sample(at_ns += kSecond / 50);
    }
    EXPECT_EQ(last("gpu.sm_active", "host node/gpu 1"), use);
  };
  sample_until(0.75);
  dcgm_.at(1);
  sample_until(0.25);
  sampler_.reset();
  ASSERT_TRUE(fine->wait_idle(kLong));
}

TEST_F(DcgmThatRefuses, IsTold) {
  sample_both();
  EXPECT_THAT(sampler_->findings().missing, Contains(HasSubstr("dcgmWatchFields gives -33")));
}

}  // namespace
}  // namespace eroica::testing
