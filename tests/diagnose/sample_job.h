#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "diagnose/diagnose.h"
#include "diagnose/standard_rules.h"

namespace eroica {

// Small jobs made by hand: ten steps of 100 ms on each rank, whatever a rank does longer the others wait for.
// Inline: short enough to be read with the tests.

inline constexpr int64_t kMs = 1'000'000;
inline constexpr uint64_t kReduce = 1;
inline constexpr uint64_t kProduct = 2;
inline constexpr uint64_t kAugment = 3;
inline constexpr int64_t kSampleSteps = 10;

inline NameTable sample_names() {
  NameTable names;
  names[kReduce] = {"all_reduce", "", "", FunctionKind::kCollective, {}};
  names[kProduct] = {"sm80_xmma_gemm_bf16", "", "", FunctionKind::kCompute, {}};
  names[kAugment] = {"augment", "", "train.py", FunctionKind::kPython, {"train.py: main"}};
  return names;
}

/// A function that takes `step_ms` of each step in `calls` executions.
inline FunctionPattern sample_function(uint64_t name, FunctionKind kind, int64_t step_ms, uint64_t calls = 1) {
  FunctionPattern function;
  function.name = name;
  function.kind = kind;
  function.executions = calls * kSampleSteps;
  function.total_ns = function.self_ns = function.exposed_ns = step_ms * kMs * kSampleSteps;
  function.durations.add(step_ms * kMs / static_cast<int64_t>(calls), function.executions);
  function.longest_ns = step_ms * kMs / static_cast<int64_t>(calls);
  function.shape = 7;
  function.shapes = 1;
  function.work = kind == FunctionKind::kCompute ? 1e6 * kSampleSteps : 0;
  return function;
}

/// One rank; the all-reduce takes what compute and Python leave of 100 ms.
inline RankPattern sample_rank(int32_t rank, int64_t compute_ms, int64_t python_ms, bool gpu) {
  RankPattern pattern;
  pattern.rank = rank;
  pattern.host = "node0";
  pattern.world_size = 4;
  pattern.gpu_job = gpu;
  if (gpu) {
    pattern.gpu = rank;
    pattern.device = "NVIDIA A100";
  }
  pattern.step_source = StepSource::kMarker;
  const int64_t network_ms = 100 - compute_ms - python_ms;
  pattern.steps.reserve(kSampleSteps);
  for (int64_t i = 0; i < kSampleSteps; ++i) {
    StepPattern step;
    step.number = i;
    step.start_ns = pattern.window_ns;
    step.duration_ns = 100 * kMs;
    step.budget[static_cast<size_t>(TimeClass::kCompute)] = compute_ms * kMs;
    step.budget[static_cast<size_t>(TimeClass::kPython)] = python_ms * kMs;
    step.budget[static_cast<size_t>(TimeClass::kCommunication)] = network_ms * kMs;
    step.work = 1e6;
    for (size_t c = 0; c < kTimeClassCount; ++c) pattern.budget[c] += step.budget[c];
    pattern.window_ns += step.duration_ns;
    pattern.steps.push_back(step);
  }
  FunctionPattern reduce = sample_function(kReduce, FunctionKind::kCollective, network_ms);
  reduce.bytes = 1'000'000 * kSampleSteps;
  FunctionPattern augment = sample_function(kAugment, FunctionKind::kPython, python_ms);
  augment.line = 40;
  pattern.functions = {sample_function(kProduct, FunctionKind::kCompute, compute_ms, 10), std::move(reduce),
                       std::move(augment)};
  pattern.groups = {{"0", "default_pg", {0, 1, 2, 3}, 4}};
  CollectiveSummary summary;
  summary.kind = "all_reduce";
  summary.dtype = "float";
  summary.count = kSampleSteps;
  summary.bytes = pattern.functions[1].bytes;
  summary.total_ns = summary.exposed_ns = pattern.functions[1].total_ns;
  summary.durations = pattern.functions[1].durations;
  pattern.collectives = {std::move(summary)};
  return pattern;
}

/// A signal of the rank's GPU over the whole window.
inline void add_gpu_signal(RankPattern& pattern, const std::string& metric, const std::string& unit, double mean) {
  const std::string entity = "host node0/gpu " + std::to_string(pattern.rank);
  pattern.signals.push_back({metric, entity, unit, mean, 0, mean, mean, pattern.window_ns});
}

/// `then`: an earlier window.
inline Conclusion conclude_with(const std::vector<RankPattern>& patterns, const std::vector<RankPattern>& then) {
  const NameTable names = sample_names();
  const Job job = build_job(patterns, names);
  const Comparison now(job, names);
  const Job before = build_job(then, names);
  const Comparison baseline(before, names);
  return diagnose(now, &baseline, standard_rules().rules);
}

inline Conclusion conclude(const std::vector<RankPattern>& patterns) {
  const NameTable names = sample_names();
  const Job job = build_job(patterns, names);
  const Comparison now(job, names);
  const RuleSet rules = standard_rules();
  return diagnose(now, nullptr, rules.rules);
}

/// Four ranks with much the same compute and hardly any Python.
inline std::vector<RankPattern> even_job(bool gpu) {
  std::vector<RankPattern> patterns;
  patterns.reserve(4);
  for (int32_t rank = 0; rank < 4; ++rank) patterns.push_back(sample_rank(rank, 60, 1, gpu));
  return patterns;
}

/// Rank 2 computes for 75 ms where the others do for 60; `throttled`: and its GPU says why.
inline std::vector<RankPattern> hot_job(bool slow, bool throttled) {
  std::vector<RankPattern> patterns = even_job(true);
  if (slow) patterns[2] = sample_rank(2, 75, 1, true);
  for (RankPattern& pattern : patterns) {
    const bool hot = throttled && pattern.rank == 2;
    add_gpu_signal(pattern, "gpu.sm_clock", "hz", hot && slow ? 1.13e9 : 1.41e9);
    add_gpu_signal(pattern, "gpu.temperature", "celsius", hot ? 91 : 62);
    add_gpu_signal(pattern, "gpu.throttle_thermal", "fraction", hot ? 0.6 : 0);
  }
  return patterns;
}

/// Rank 1 spends 20 ms more in its `augment`.
inline std::vector<RankPattern> slow_function_job() {
  std::vector<RankPattern> patterns = even_job(false);
  patterns[1] = sample_rank(1, 60, 21, false);
  return patterns;
}

}  // namespace eroica
