// The way of a GPU's counters from the vendor's library to the diagnosis.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/conclude.h"
#include "cli/executor.h"
#include "cli/pipeline.h"
#include "diagnose/standard_rules.h"
#include "sample/host_sampler.h"
#include "sample/nvml_library.h"
#include "simulate/simulate.h"
#include "support/stand_in.h"

namespace eroica::testing {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kLong = 60'000'000'000;

class NoProgress : public ProgressSink {
 public:
  void begin(uint64_t, size_t) override {}
  void advance(uint64_t) override {}
  void file_done() override {}
  void end() override {}
};

/// A bundle of a job with a hot GPU, whose GPUs nobody sampled while it was made.
class GpuEvidence : public ::testing::Test {
 protected:
  void SetUp() override {
    SimulateRequest request;
    request.seed = 7;
    request.wishes.ranks = 8;
    request.faults.push_back(parse_fault("gpu.thermal_throttle:0.8@3").value());
    request.dropped_signals = {"gpu.*"};
    const Result<Simulated> job = simulate(request);
    ASSERT_TRUE(job.ok()) << job.error().message;
    for (const SimulatedFile& file : job->files) write(file.path, file.bytes);
    inputs_ = discover({folder_.string()}, {}).value();
    ASSERT_TRUE(inputs_.window.has_value());
    ASSERT_EQ(inputs_.hosts.size(), 2U);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  /// Four GPUs; one of them, if any, is held down for heat two thirds of the time.
  static std::string script(int hot) {
    std::string text;
    for (int gpu = 0; gpu < 4; ++gpu) {
      const bool is_hot = gpu == hot;
      text += fmt::format("device GPU-{} 00000000:{}7:00.0 NVIDIA H100 80GB HBM3\n", gpu, gpu + 1);
      text += fmt::format("set sm_mhz 0 {}\nset mem_mhz 0 2619\nset reasons 0 0\n", is_hot ? 1290 : 1980);
      text += fmt::format("set celsius 0 {}\nset field.186 0 {}\n", is_hot ? 91 : 55 + gpu, is_hot ? 480000 : 600000);
      text += fmt::format("set field.269 0 0 100 {}\nset field.270 0 0\n", is_hot ? 66'000'000'000 : 0);
      text += "set field.74 0 0\nset field.76 0 0\nset field.271 0 0\nset limit_mw 0 700000\n";
    }
    return text;
  }

  /// What the sampler of a host makes of the window.
  void sample_host(const std::string& host, int hot) {
    SampledJob job{host, {}, 1};
    for (const RankInput& rank : inputs_.ranks) {
      if (rank.host != host) continue;
      job.ranks.push_back(
          {.rank = rank.rank, .pid = 9, .host = host, .local_rank = rank.gpu, .gpus = GpuVendor::kNvidia});
    }
    const StandIn library("nvml", "libnvidia-ml.so.1", script(hot));
    const auto feed =
        std::make_shared<GpuFeed>([path = library.path()](CallWatch& watch) { return nvml_library(watch, path); });
    HostSampler sampler(SystemFiles("/nowhere"), job, [] { return int64_t{0}; }, {{feed}, nullptr});
    const int64_t end_ns = inputs_.window->start_unix_ns + inputs_.window->duration_ns + 100 * kMs;
    const int64_t begin_ns = inputs_.window->start_unix_ns - 100 * kMs;
    for (int64_t now_ns = begin_ns; now_ns < end_ns; now_ns += 10 * kMs) {
      ASSERT_TRUE(feed->wait_idle(kLong));
      library.at(static_cast<double>(now_ns - begin_ns) * 1e-9);
      sampler.sample(now_ns);
    }
    sampler.finish(end_ns);
    write(fmt::format("gpus-{}.json", host), samples_json(sampler.samples()));
    inputs_.sample_paths.push_back((folder_ / fmt::format("gpus-{}.json", host)).string());
  }

  [[nodiscard]] Conclusion concluded() const {
    ThreadExecutor executor(1);
    NoProgress progress;
    const RuleSet rules = standard_rules();
    return conclude(collect_patterns(inputs_, "", executor, progress).value(), nullptr, rules.rules);
  }

  fs::path folder_ = fs::temp_directory_path() / fmt::format("eroica-gpu-evidence-{}", getpid());
  InputSet inputs_;
};

TEST_F(GpuEvidence, AHotGpuIsNamed) {
  EXPECT_THAT(concluded().diagnoses, ::testing::IsEmpty());  // nothing tells of the GPUs
  sample_host(inputs_.hosts[0].name, 3);
  sample_host(inputs_.hosts[1].name, -1);
  const Conclusion conclusion = concluded();
  ASSERT_FALSE(conclusion.diagnoses.empty());
  const Diagnosis& first = conclusion.diagnoses.front();
  EXPECT_EQ(first.cause, "gpu.thermal_throttle");
  EXPECT_THAT(first.ranks, ::testing::ElementsAre(3));
  EXPECT_EQ(first.component, fmt::format("host {}/gpu 3", inputs_.hosts[0].name));
  ASSERT_FALSE(first.evidence.empty());
}

}  // namespace
}  // namespace eroica::testing
