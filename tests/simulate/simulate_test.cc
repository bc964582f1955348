#include "simulate/simulate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "trace/kineto_reader.h"
#include "trace/samples.h"

namespace eroica {
namespace {

using nlohmann::json;
using testing::ElementsAre;

SimulateRequest small(uint64_t seed, const std::string& fault = "") {
  SimulateRequest request;
  request.seed = seed;
  request.strength = 0.6;
  request.wishes.steps = 4;
  if (!fault.empty()) request.faults.push_back(*parse_fault(fault));
  return request;
}

const SimulatedFile& file(const Simulated& job, const std::string& path) {
  return *std::ranges::find(job.files, path, &SimulatedFile::path);
}
json document(const Simulated& job, const std::string& path) { return json::parse(file(job, path).bytes); }

/// Mean of a metric over the window, by entity.
std::map<std::string, double> means(const Simulated& job, const std::string& metric) {
  std::map<std::string, double> result;
  for (const SimulatedFile& candidate : job.files) {
    if (!candidate.path.starts_with("samples-")) continue;
    const Result<SampleFile> read = read_samples(memory_source(candidate.bytes));
    EXPECT_TRUE(read.ok());
    for (const SampleSeries& series : read->samples.series) {
      if (series.metric != metric) continue;
      double sum = 0;
      for (const Sample& sample : series.samples) sum += sample.value;
      result[series.entity] = sum / static_cast<double>(series.samples.size());
    }
  }
  return result;
}

TEST(Simulate, SameRequestSameBytes) {
  const Simulated a = *simulate(small(3, "cpu.contention"));
  const Simulated b = *simulate(small(3, "cpu.contention"));
  ASSERT_EQ(a.files.size(), b.files.size());
  for (size_t i = 0; i < a.files.size(); ++i) {
    EXPECT_EQ(a.files[i].path, b.files[i].path);
    EXPECT_EQ(a.files[i].bytes, b.files[i].bytes) << a.files[i].path;
  }
}

TEST(Simulate, SeedsDiffer) {
  const Simulated a = *simulate(small(1));
  const Simulated b = *simulate(small(2));
  EXPECT_NE(document(a, "bundle.json"), document(b, "bundle.json"));
  EXPECT_NE(a.truth.step_ms, b.truth.step_ms);
}

TEST(Simulate, HealthyJobsAreNotSlow) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const Simulated job = *simulate(small(seed));
    EXPECT_EQ(job.truth.slowdown, 1) << seed;
    EXPECT_GT(job.truth.step_ms, 1) << seed;
    EXPECT_TRUE(document(job, "truth.json")["healthy"].get<bool>());
  }
}

TEST(Simulate, TracesAreReadWithoutDefects) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const Simulated job = *simulate(small(seed));
    const json bundle = document(job, "bundle.json");
    for (const json& rank : bundle["ranks"]) {
      const Result<Trace> trace = read_kineto(memory_source(file(job, rank["trace"]).bytes));
      ASSERT_TRUE(trace.ok());
      EXPECT_FALSE(trace->defects.any()) << seed;
      EXPECT_GT(trace->timed_events, 500);
      EXPECT_GT(trace->category_count[static_cast<size_t>(Category::kKernel)], 100);
    }
  }
}

class EveryFault : public testing::TestWithParam<std::string> {};

TEST_P(EveryFault, GivesAReadableBundleAndCostsTime) {
  const Result<Simulated> job = simulate(small(14, GetParam()));
  ASSERT_TRUE(job.ok()) << job.error().message;
  const json bundle = document(*job, "bundle.json");
  const json truth = document(*job, "truth.json");
  EXPECT_EQ(truth["cause"], GetParam());
  size_t traces = 0;
  for (const json& rank : bundle["ranks"]) {
    if (!rank.contains("trace") || ++traces > 1) continue;
    const Result<Trace> trace = read_kineto(memory_source(file(*job, rank["trace"]).bytes));
    ASSERT_TRUE(trace.ok());
    EXPECT_FALSE(trace->defects.any());
  }
  EXPECT_GE(traces, 1);
  if (truth["blocked"].get<bool>()) return;
  EXPECT_GT(job->truth.slowdown, truth["healthy"].get<bool>() ? 0.97 : 1.0);
  EXPECT_LT(job->truth.slowdown, 20);  // FP32 on a GPU made for tensor cores
}

std::vector<std::string> all_ids() {
  std::vector<std::string> ids;
  for (const FaultKind& kind : fault_kinds()) ids.emplace_back(kind.id);
  return ids;
}
INSTANTIATE_TEST_SUITE_P(Faults, EveryFault, testing::ValuesIn(all_ids()), [](const auto& fault) {
  std::string name = fault.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

struct Promise {
  std::string fault;
  std::string metric;
  std::string entity;  ///< of the target; H stands for its host's name
  bool rises = true;
};
void PrintTo(const Promise& promise, std::ostream* out) { *out << promise.fault << " " << promise.metric; }

class Signals : public testing::TestWithParam<Promise> {};

TEST_P(Signals, MoveAsPromised) {
  const auto& [fault, metric, entity, rises] = GetParam();
  SimulateRequest request = small(5, fault);
  const Simulated with = *simulate(request);
  const json bundle = document(with, "bundle.json");
  std::string name = entity;
  const json truth = document(with, "truth.json");
  if (const size_t at = name.find('H'); at != std::string::npos)
    name.replace(at, 1, truth["hosts"][0].get<std::string>());
  // Compared with the other entities of its kind.
  double target = -1;
  std::vector<double> others;
  for (const auto& [key, mean] : means(with, metric)) {
    if (key == name) {
      target = mean;
    } else {
      others.push_back(mean);
    }
  }
  ASSERT_GE(target, 0) << name;
  ASSERT_FALSE(others.empty());
  std::ranges::sort(others);
  const double usual = others[others.size() / 2];
  if (rises) {
    EXPECT_GT(target, usual * 1.2 + 1e-6);
  } else {
    EXPECT_LT(target, usual * 0.95);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, Signals,
                         testing::Values(Promise{"gpu.thermal_throttle@0", "gpu.throttle_thermal", "host H/gpu 0"},
                                         Promise{"gpu.thermal_throttle@0", "gpu.sm_clock", "host H/gpu 0", false},
                                         Promise{"gpu.thermal_throttle@0", "gpu.temperature", "host H/gpu 0"},
                                         Promise{"gpu.power_cap@0", "gpu.throttle_power", "host H/gpu 0"},
                                         Promise{"gpu.power_cap@0", "gpu.power_limit", "host H/gpu 0", false},
                                         Promise{"gpu.clock_locked@0", "gpu.clock_locked", "host H/gpu 0"},
                                         Promise{"gpu.shared@0", "gpu.foreign_processes", "host H/gpu 0"},
                                         Promise{"gpu.ecc_remap@0", "gpu.remapped_rows", "host H/gpu 0"},
                                         Promise{"nvlink.down@0", "gpu.nvlink_up", "host H/gpu 0", false},
                                         Promise{"pcie.replays@0", "gpu.pcie_replay", "host H/gpu 0"},
                                         Promise{"cpu.contention@0", "cpu.main_thread_runnable_wait", "rank 0"},
                                         Promise{"cpu.cgroup_throttle@0", "cpu.throttled", "rank 0"},
                                         Promise{"python.gc_pause@0", "python.gc", "rank 0"},
                                         Promise{"data.workers_starved@0", "cpu.run", "rank 0/worker 0"},
                                         Promise{"cpu.comm_proxy_starved@0", "cpu.runnable_wait",
                                                 "rank 0/thread nccl-proxy"},
                                         Promise{"data.slow_local_disk@host0", "pressure.io", "host H"},
                                         Promise{"data.slow_remote_storage@host0", "fs.remote_rtt", "host H"},
                                         Promise{"memory.pressure@host0", "memory.swap_in", "host H"},
                                         Promise{"cpu.irq_load@host0", "cpu.softirq", "host H"},
                                         Promise{"cpu.frequency_cap@host0", "cpu.frequency", "host H", false}));

TEST(ParseFault, TakesAllParts) {
  const FaultWish wish = *parse_fault("python.gc_pause:0.4:moving:every=5@rank3");
  EXPECT_EQ(wish.id, "python.gc_pause");
  EXPECT_EQ(wish.strength, 0.4);
  EXPECT_TRUE(wish.moving);
  EXPECT_EQ(wish.every, 5);
  EXPECT_EQ(wish.target, "rank3");
}

TEST(ParseFault, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "gpu.melted", "python.gc_pause:2", "python.gc_pause:every=0", "python.gc_pause@", "healthy:sometimes"}) {
    EXPECT_FALSE(parse_fault(text).ok()) << text;
  }
  EXPECT_FALSE(simulate(small(1, "gpu.power_cap@99")).ok());
}

TEST(Simulate, TheTargetIsTheOneAskedFor) {
  const Simulated job = *simulate(small(4, "code.slow_function@2"));
  EXPECT_THAT(job.truth.faults.front().ranks, ElementsAre(2));
}

TEST(Simulate, LeavesOutWhatIsToBeDropped) {
  SimulateRequest request = small(4);
  request.dropped_signals = {"gpu.*"};
  request.dropped_ranks = {1};
  const Simulated job = *simulate(request);
  EXPECT_TRUE(means(job, "gpu.power").empty());
  EXPECT_FALSE(means(job, "cpu.run").empty());
  EXPECT_FALSE(document(job, "bundle.json")["ranks"][1].contains("trace"));
}

TEST(Simulate, BaselineIsTheSameJobWithoutItsFault) {
  SimulateRequest request = small(6, "config.collective_algorithm");
  request.with_baseline = true;
  const Simulated job = *simulate(request);
  EXPECT_EQ(document(job, "bundle.json")["groups"], document(job, "baseline/bundle.json")["groups"]);
  EXPECT_EQ(document(job, "truth.json")["baseline"], "baseline");
}

}  // namespace
}  // namespace eroica
