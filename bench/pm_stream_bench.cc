// What it takes to keep up with the hardware's own sampling of GPUs: one second of ten thousand samples of 16 metrics
// on each of 8 GPUs, reduced to points of the sample log. What the vendor's library takes to decode them comes on top.
//
//   cmake --build --preset release --target bench && build/release/bench/pm_stream_bench
//
// `cores` is the share of one core that the stream needs.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "sample/pm_reduction.h"
#include "sample/sample_log.h"

namespace {

constexpr size_t kGpus = 8;
constexpr size_t kMetrics = 16;
constexpr int64_t kSamples = 10'000;
constexpr int64_t kIntervalNs = 100'000;
constexpr int64_t kPeriodNs = 10'000'000;

/// A second of values, made beforehand.
std::vector<std::array<double, kMetrics>> stream() {
  std::vector<std::array<double, kMetrics>> samples(kSamples);
  uint64_t state = 1;
  for (auto& sample : samples) {
    for (double& value : sample) {
      state = state * 6364136223846793005 + 1442695040888963407;
      value = static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
    }
  }
  return samples;
}

void reduce(benchmark::State& state) {
  const std::vector<std::array<double, kMetrics>> samples = stream();
  std::vector<std::string> entities;
  std::vector<std::string> metrics;
  for (size_t i = 0; i < kGpus; ++i) entities.push_back(fmt::format("host node/gpu {}", i));
  for (size_t i = 0; i < kMetrics; ++i) metrics.push_back(fmt::format("gpu.metric_{}", i));
  for (auto _ : state) {
    eroica::SampleLog log;
    std::vector<eroica::PmReduction> reductions(kGpus, eroica::PmReduction(kMetrics, kPeriodNs));
    for (int64_t k = 0; k < kSamples; ++k) {
      for (size_t gpu = 0; gpu < kGpus; ++gpu) {
        eroica::PmReduction& reduction = reductions[gpu];
        if (!reduction.add(k * kIntervalNs, (k + 1) * kIntervalNs, samples[static_cast<size_t>(k)])) continue;
        for (size_t i = 0; i < kMetrics; ++i) {
          const eroica::PmAggregate& told = reduction.aggregates()[i];
          log.at(reduction.end_ns() - kPeriodNs / 2);
          log.level(entities[gpu], metrics[i], "fraction", told.mean - told.deviation);
          log.at(reduction.end_ns());
          log.level(entities[gpu], metrics[i], "fraction", told.mean + told.deviation);
        }
      }
    }
    benchmark::DoNotOptimize(log.count());
  }
  state.counters["cores"] = benchmark::Counter(static_cast<double>(state.iterations()),
                                               benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(reduce)->Unit(benchmark::kMillisecond);

}  // namespace
