#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "sample/host_sampler.h"
#include "support/stand_in.h"

namespace eroica::testing {

constexpr int64_t kLong = 60'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'790'000'000 * kSecond;
constexpr int64_t kStep = 6 * kSecond;  // after which everything is due, whatever it cost

inline int64_t free_of_charge() { return 0; }

/// Waits until the state is told: deadlines are short, the wait is as long as the machine needs.
inline bool becomes(const GpuFeed& feed, GpuFeed::State state) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLong);
  while (feed.state() != state) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A machine with GPUs that a stand-in plays. Its processes 100, a rank, and 4242 have the numbers that the driver
/// gives them.
class SampledGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "eroica-gpus-XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    enter("pid:[4026531836]");
    for (const int pid : {100, 4242}) {
      std::filesystem::create_directories(fmt::format("{}/proc/{}", root_, pid));
      std::ofstream(fmt::format("{}/proc/{}/stat", root_, pid))
          << pid << " (python3) S 1 1 1 0 -1 0 9 0 0 0 0 0 0 0 20 0 2 0 77 1000 50 0\n";
    }
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void enter_container() const { enter("pid:[4026532999]"); }
  [[nodiscard]] SystemFiles files() const { return SystemFiles(root_); }
  static SampledJob job() { return {"node", {{.rank = 0, .pid = 100, .host = "node"}}, 10}; }

  /// One second of the script, by the sampler.
  void sample(const StandIn& library, const std::shared_ptr<GpuFeed>& feed, SampledJob of) {
    sampler_.emplace(files(), std::move(of), free_of_charge, GpuFeeds{{feed}, nullptr});
    for (const int64_t at_ns : {int64_t{0}, kStep, 2 * kStep}) {
      ASSERT_TRUE(feed->wait_idle(kLong));
      sampler_->sample(kBegin + at_ns);  // finds the GPUs, looks for the job's, reads them
    }
    ASSERT_TRUE(feed->wait_idle(kLong));
    library.at(1);
    sampler_->finish(kBegin + kSecond + 2 * kStep);
  }

  [[nodiscard]] const SampleSet& samples() const { return sampler_->samples(); }
  [[nodiscard]] SourceFindings findings() const { return sampler_->findings(); }
  [[nodiscard]] const SampleSeries* series(const std::string& metric,
                                           const std::string& entity = "host node/gpu 0") const {
    for (const SampleSeries& one : samples().series) {
      if (one.entity == entity && one.metric == metric && !one.samples.empty()) return &one;
    }
    return nullptr;
  }
  /// What the series says last; absent: there is no such series.
  [[nodiscard]] std::optional<double> last(const std::string& metric,
                                           const std::string& entity = "host node/gpu 0") const {
    const SampleSeries* found = series(metric, entity);
    return found == nullptr ? std::nullopt : std::optional(std::round(found->samples.back().value * 1e3) / 1e3);
  }
  /// The integral of a rate.
  [[nodiscard]] double total(const std::string& metric) const {
    const SampleSeries* found = series(metric);
    double sum = 0;
    for (size_t i = 1; found != nullptr && i < found->samples.size(); ++i) {
      const int64_t ns = found->samples[i].time_ns - found->samples[i - 1].time_ns;
      sum += found->samples[i].value * static_cast<double>(ns) * 1e-9;
    }
    return sum;
  }

  std::optional<HostSampler> sampler_;

 private:
  void enter(const std::string& pid_namespace) const {
    std::filesystem::create_directories(root_ + "/proc/self/ns");
    std::filesystem::remove(root_ + "/proc/self/ns/pid");
    std::filesystem::create_symlink(pid_namespace, root_ + "/proc/self/ns/pid");
  }

  std::string root_;
};

}  // namespace eroica::testing
