#include "sample/cupti_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sample/nvml_library.h"
#include "support/sampled_gpus.h"

namespace eroica::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Two GPUs; the multiprocessors of the second one, which is the job's, get ever busier.
constexpr const char* kGpus = R"(
device GPU-00 00000000:0a:00.0 GH100
device GPU-11 00000000:17:00.0 GH100
set sm_mhz 0 1980
set gpm.2 0 11
set gpm.10 0 22
set sm__cycles_active.avg.pct_of_peak_sustained_elapsed 0 0 1 100
set dramc__throughput.avg.pct_of_peak_sustained_elapsed 0 50
set sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed 0 25
set nvltx__bytes.sum.per_second 0 1000000000
process 100 70000000000
)";

/// The GPUs of NvmlTest, sampled by their hardware as well: two libraries that play one script.
class CuptiTest : public SampledGpus {
 protected:
  explicit CuptiTest(const std::string& more = "") : nvml_("nvml", "libnvidia-ml.so.1", kGpus + more) {}

  [[nodiscard]] std::shared_ptr<GpuFeed> nvml() const {
    return std::make_shared<GpuFeed>([path = nvml_.path()](CallWatch& watch) { return nvml_library(watch, path); });
  }
  [[nodiscard]] std::shared_ptr<GpuFeed> cupti(GpuFeed::Deadlines deadlines = {}) const {
    return std::make_shared<GpuFeed>(
        [path = cupti_.path()](CallWatch& watch) { return cupti_library(watch, path, path); }, deadlines);
  }
  /// A second of the script in steps of 20 ms.
  void sample_finely(const std::shared_ptr<GpuFeed>& counters, const std::shared_ptr<GpuFeed>& fine) {
    sampler_.emplace(files(), job(), free_of_charge, GpuFeeds{{counters}, fine});
    for (int64_t at_ns = 0; at_ns <= kSecond; at_ns += kSecond / 50) {
      ASSERT_TRUE(counters->wait_idle(kLong));
      ASSERT_TRUE(fine->wait_idle(kLong));
      cupti_.at(static_cast<double>(at_ns) * 1e-9);
      sampler_->sample(kBegin + at_ns);
    }
    sampler_->finish(kBegin + kSecond);
    ASSERT_TRUE(fine->wait_idle(kLong));
  }
  [[nodiscard]] int enabled() const { return cupti_.ask("eroica_stand_in_enabled"); }

  StandIn nvml_;
  StandIn cupti_{"cupti", "libcupti.so.13"};
};

class CuptiWithoutRights : public CuptiTest {
 protected:
  CuptiWithoutRights() : CuptiTest("fail cuptiPmSamplingEnable 35\n") {}
};
class CuptiThatHangs : public CuptiTest {
 protected:
  CuptiThatHangs() : CuptiTest("hang cuptiPmSamplingDecodeData\n") {}
};
class CuptiThatDoesNotStart : public CuptiTest {
 protected:
  CuptiThatDoesNotStart() : CuptiTest("fail cuptiProfilerInitialize 999\n") {}
};

TEST_F(CuptiTest, MeanAndDeviationInStepsOfTenMilliseconds) {
  const auto fine = cupti();
  sample_finely(nvml(), fine);
  const std::string gpu = "host node/gpu 1";
  const SampleSeries* use = series("gpu.sm_active", gpu);
  ASSERT_NE(use, nullptr);
  // The driver's own coarse samples came before; then two points each 10 ms, rising with the script.
  size_t fine_points = 0;
  double sum = 0;
  for (const Sample& sample : use->samples) {
    if (sample.value == 0.11) continue;
    ++fine_points;
    sum += sample.value;
  }
  // On a busy machine the first of them may be missing.
  EXPECT_GE(fine_points, 100U);
  EXPECT_LE(fine_points, 200U);
  EXPECT_NEAR(sum / static_cast<double>(fine_points), 1 - static_cast<double>(fine_points) / 400, 0.03);
  EXPECT_NEAR(use->samples.back().value, 1, 0.02);
  EXPECT_EQ(last("gpu.tensor_active", gpu), 0.25);
  EXPECT_EQ(last("gpu.dram_active", gpu), 0.5);
  // A fourth metric did not fit into the pass.
  EXPECT_EQ(last("gpu.nvlink_transmit", gpu), std::nullopt);
  EXPECT_EQ(series("gpu.sm_active", "host node/gpu 0"), nullptr);
  EXPECT_EQ(enabled(), 0);  // it was switched off
}

TEST_F(CuptiTest, ItIsSwitchedOffWhenAWindowIsDropped) {
  const auto counters = nvml();
  const auto fine = cupti();
  {
    HostSampler sampler(files(), job(), free_of_charge, {{counters}, fine});
    for (int64_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(counters->wait_idle(kLong));
      ASSERT_TRUE(fine->wait_idle(kLong));
      sampler.sample(kBegin + i * kSecond / 50);
    }
    ASSERT_TRUE(fine->wait_idle(kLong));
    EXPECT_EQ(enabled(), 1);
  }
  ASSERT_TRUE(fine->wait_idle(kLong));
  EXPECT_EQ(enabled(), 0);
}

TEST_F(CuptiWithoutRights, AreToldWithARemedy) {
  sample_finely(nvml(), cupti());
  EXPECT_THAT(sampler_->findings().missing, Contains(HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
  EXPECT_EQ(last("gpu.sm_active", "host node/gpu 1"), 0.11);  // as the driver tells
}

TEST_F(CuptiThatHangs, CostsNothingElse) {
  const auto counters = nvml();
  const auto fine = cupti({.start_ns = kLong, .call_ns = 1'000'000});
  HostSampler sampler(files(), job(), free_of_charge, {{counters}, fine});
  for (int64_t i = 0; fine->state() != GpuFeed::State::kHung; ++i) {
    ASSERT_TRUE(counters->wait_idle(kLong));
    sampler.sample(kBegin + i * kSecond / 50);
  }
  sampler.sample(kBegin + 1000 * kSecond);
  EXPECT_THAT(sampler.findings().missing,
              Contains("use of NVIDIA GPUs at 10 kHz (cuptiPmSamplingDecodeData does not come back)"));
  cupti_.release();
  ASSERT_TRUE(fine->wait_idle(kLong));
}

class CuptiThatDoesNotDecode : public CuptiTest {
 protected:
  CuptiThatDoesNotDecode() : CuptiTest("fail cuptiPmSamplingDecodeData 7\n") {}
};
class CuptiThatDoesNotEvaluate : public CuptiTest {
 protected:
  CuptiThatDoesNotEvaluate() : CuptiTest("fail cuptiProfilerHostEvaluateToGpuValues 8\n") {}
};
class CuptiThatOverflows : public CuptiTest {
 protected:
  CuptiThatOverflows() : CuptiTest("set overflow 0 1\n") {}
};

TEST_F(CuptiThatDoesNotDecode, CallsThatFailAreCountedAndShown) {
  sample_finely(nvml(), cupti());
  EXPECT_THAT(sampler_->findings().missing,
              Contains(ContainsRegex("use of NVIDIA GPUs at 10 kHz \\([0-9]+ calls failed, the last one: "
                                     "cuptiPmSamplingDecodeData gives 7\\)")));
}

TEST_F(CuptiThatDoesNotEvaluate, CallsThatFailAreCountedAndShown) {
  sample_finely(nvml(), cupti());
  EXPECT_THAT(sampler_->findings().missing, Contains(HasSubstr("cuptiProfilerHostEvaluateToGpuValues gives 8")));
}

TEST_F(CuptiThatOverflows, ItIsCountedAndShown) {
  sample_finely(nvml(), cupti());
  EXPECT_THAT(sampler_->findings().missing, Contains(ContainsRegex("[0-9]+ times samples were lost")));
}

TEST_F(CuptiThatDoesNotStart, AProblemOfTheStartIsTold) {
  sample_finely(nvml(), cupti());
  EXPECT_THAT(sampler_->findings().missing, Contains(HasSubstr("cuptiProfilerInitialize gives 999")));
}

}  // namespace
}  // namespace eroica::testing
