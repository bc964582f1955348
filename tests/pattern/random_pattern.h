#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <rapidcheck.h>

#include "pattern/pattern.h"

namespace eroica {

// Generators of patterns: every field varies, indices stay in range, and every value is one that the wire form keeps
// exactly (hardware means and work are floats, covered times whole microseconds).

inline rc::Gen<int64_t> any_time() {
  return rc::gen::map(rc::gen::arbitrary<uint64_t>(), [](uint64_t bits) {
    return static_cast<int64_t>((bits >> 16) >> (bits % 48));  // all magnitudes up to 2^48
  });
}

inline rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ09 _:/.<>()"))),
                      [](std::string text) { return text.substr(0, 40); });
}

template <typename T>
std::vector<T> some(size_t at_most, const std::function<T()>& make) {
  std::vector<T> values;
  const auto count = *rc::gen::inRange<size_t>(0, at_most + 1);
  for (size_t i = 0; i < count; ++i) {
    values.push_back(make());
  }
  return values;
}

inline QuantileSketch any_sketch(size_t at_most = 30) {
  QuantileSketch sketch;
  for (int64_t value : some<int64_t>(at_most, [] { return *any_time(); })) {
    sketch.add(value, *rc::gen::inRange<uint64_t>(1, 1000));
  }
  return sketch;
}

inline std::vector<uint32_t> any_series(size_t steps) {
  std::vector<uint32_t> series;
  if (*rc::gen::arbitrary<bool>()) {
    for (size_t i = 0; i < steps; ++i) {
      series.push_back(*rc::gen::arbitrary<uint32_t>());
    }
  }
  return series;
}

inline double any_float(int least = -1000) { return static_cast<float>(*rc::gen::inRange(least, 1000)) / 3; }

inline SignalUse any_signal() {
  const std::string metric = *rc::gen::elementOf(std::vector<std::string>{"cpu.run", "cpu.softirq", "gpu.power"});
  const std::string entity = *rc::gen::elementOf(std::vector<std::string>{
      "rank 2", "rank 2/thread nccl", "host a", "host a/gpu 1", "host a/nic x", "host a/cpu1"});
  return {metric,       entity + std::to_string(*rc::gen::inRange(0, 99)),
          *any_text(),  any_float(),
          any_float(0), any_float(),
          any_float(),  (*any_time() / 1000) * 1000};
}

inline FunctionKind any_kind() { return static_cast<FunctionKind>(*rc::gen::inRange<size_t>(0, kFunctionKindCount)); }

inline FunctionPattern any_sums(FunctionKind kind) {
  FunctionPattern function;
  function.kind = kind;
  function.executions = *rc::gen::inRange<uint64_t>(0, 1'000'000);
  function.total_ns = *any_time();
  function.self_ns = *any_time();
  function.exposed_ns = *any_time();
  function.longest_ns = *any_time();
  function.bytes = *any_time();
  function.work = any_float(0);
  function.beside_executions = *rc::gen::inRange<uint64_t>(0, 1'000'000);
  function.beside_ns = *any_time();
  function.durations = any_sketch();
  return function;
}

inline FunctionPattern any_function(size_t steps) {
  FunctionPattern function = any_sums(any_kind());
  function.name = *rc::gen::arbitrary<uint64_t>();
  function.line = *rc::gen::inRange(0, 5000);
  function.shape = *rc::gen::arbitrary<uint32_t>();
  function.shapes = *rc::gen::inRange<uint32_t>(0, kMostShapes + 1);
  function.step_exposed_us = any_series(steps);
  function.issuers = some<Issuer>(3, [] {
    return Issuer{*rc::gen::inRange<uint64_t>(0, 9), *rc::gen::inRange(0, 5000), *any_time()};
  });
  function.hardware = some<HardwareUse>(3, [] {
    return HardwareUse{*any_text(),
                       *any_text(),
                       *any_text(),
                       static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 3,
                       static_cast<float>(*rc::gen::inRange(0, 1000)) / 7,
                       (*any_time() / 1000) * 1000};
  });
  return function;
}

inline StepPattern any_step() {
  StepPattern step;
  step.number = *rc::gen::arbitrary<int64_t>();
  step.start_ns = *rc::gen::arbitrary<int64_t>();
  step.duration_ns = *any_time();
  step.complete = *rc::gen::arbitrary<bool>();
  step.irregular = *rc::gen::arbitrary<bool>();
  for (int64_t& time : step.budget) {
    time = *any_time();
  }
  step.fetch_ns = *any_time();
  step.work = any_float(0);
  step.launched_ns = *any_time();
  return step;
}

inline GroupPattern any_group() {
  GroupPattern group{*any_text(), *any_text(), {}, *rc::gen::inRange(-1, 9)};
  const int32_t stride = *rc::gen::inRange(1, 9);
  int32_t rank = *rc::gen::inRange(0, 99);
  for (int count = *rc::gen::inRange(0, 20); count > 0; --count) {
    group.ranks.push_back(rank);
    rank += *rc::gen::weightedOneOf<int32_t>({{9, rc::gen::just(stride)}, {1, rc::gen::inRange(1, 50)}});
  }
  return group;
}

inline CollectiveSummary any_collective(uint32_t groups, size_t steps) {
  CollectiveSummary summary;
  summary.kind = *any_text();
  summary.dtype = *any_text();
  summary.group = *rc::gen::inRange<uint32_t>(0, groups);
  summary.count = *rc::gen::arbitrary<uint32_t>();
  summary.bytes = *any_time();
  summary.total_ns = *any_time();
  summary.exposed_ns = *any_time();
  summary.durations = any_sketch();
  summary.step_total_us = any_series(steps);
  return summary;
}

inline CollectiveInstance any_instance(uint32_t summaries) {
  return {*rc::gen::inRange<uint32_t>(0, summaries),
          *rc::gen::inRange<int64_t>(-1, 100'000),
          *rc::gen::arbitrary<uint32_t>(),
          *rc::gen::arbitrary<int64_t>(),
          *any_time(),
          *any_time(),
          *rc::gen::inRange(-1, 64)};
}

inline WindowEnd any_end(uint32_t groups) {
  WindowEnd end;
  end.observed_ns = *any_time();
  end.last_event_ns = *any_time();
  end.quiet_ns = *any_time();
  if (groups > 0) {
    end.open = some<OpenCollective>(4, [&] {
      return OpenCollective{*any_text(),
                            *rc::gen::inRange<uint32_t>(0, groups),
                            *rc::gen::inRange<int64_t>(-1, 100'000),
                            *any_time(),
                            *any_time(),
                            *any_time(),
                            *rc::gen::arbitrary<bool>(),
                            *rc::gen::arbitrary<bool>()};
    });
  }
  if (*rc::gen::arbitrary<bool>()) {
    end.frame = *rc::gen::inRange<uint64_t>(1, 9);
    end.line = *rc::gen::inRange(0, 5000);
    end.user_frame = *rc::gen::inRange<uint64_t>(1, 9);
    end.user_line = *rc::gen::inRange(0, 5000);
  }
  if (*rc::gen::arbitrary<bool>()) {
    end.cpu_run = any_float(0);
    end.sampled_ns = *any_time();
  }
  return end;
}

/// `size` scales how many there are of everything.
inline RankPattern any_pattern(size_t size = 6) {
  RankPattern pattern;
  pattern.rank = *rc::gen::inRange(-1, 1000);
  pattern.gpu = *rc::gen::inRange(-1, 8);
  pattern.world_size = *rc::gen::inRange(-1, 1000);
  pattern.host = *any_text();
  pattern.job_id = *any_text();
  pattern.device = *any_text();
  pattern.gpu_job = *rc::gen::arbitrary<bool>();
  for (const std::string& key : some<std::string>(size, [] { return *any_text(); })) {
    pattern.labels[key] = *any_text();
  }
  pattern.window_start_unix_ns = *rc::gen::arbitrary<int64_t>();
  pattern.window_ns = *any_time();
  pattern.step_source = static_cast<StepSource>(*rc::gen::inRange(0, 4));
  pattern.steps_numbered = pattern.step_source == StepSource::kProfilerStep || *rc::gen::arbitrary<bool>();
  pattern.step_note = *any_text();
  pattern.steps = some<StepPattern>(size, [] { return any_step(); });
  const size_t steps = pattern.steps.size();
  for (int64_t& time : pattern.budget) {
    time = *any_time();
  }
  pattern.functions = some<FunctionPattern>(size, [&] { return any_function(steps); });
  for (size_t kind = 0; kind < kFunctionKindCount; ++kind) {
    pattern.rest[kind].kind = static_cast<FunctionKind>(kind);
    if (*rc::gen::arbitrary<bool>()) {
      pattern.rest[kind] = any_sums(static_cast<FunctionKind>(kind));
    }
  }
  pattern.signals = some<SignalUse>(size * 3, [] { return any_signal(); });
  std::stable_sort(pattern.signals.begin(), pattern.signals.end(), [](const SignalUse& a, const SignalUse& b) {
    return std::tie(a.metric, a.entity, a.unit) < std::tie(b.metric, b.entity, b.unit);
  });
  pattern.groups = some<GroupPattern>(size, [] { return any_group(); });
  const auto groups = static_cast<uint32_t>(pattern.groups.size());
  if (groups > 0) {
    pattern.collectives = some<CollectiveSummary>(size, [&] { return any_collective(groups, steps); });
  }
  const auto summaries = static_cast<uint32_t>(pattern.collectives.size());
  if (summaries > 0) {
    pattern.instances = some<CollectiveInstance>(size * 4, [&] { return any_instance(summaries); });
  }
  pattern.instance_sampling = *rc::gen::inRange<uint32_t>(0, 64);
  pattern.instances_seen = pattern.instances.size() + *rc::gen::inRange<uint64_t>(0, 1000);
  pattern.end = any_end(groups);
  for (int64_t& time : pattern.category_ns) {
    time = *any_time();
  }
  for (uint64_t& count : pattern.category_count) {
    count = *rc::gen::arbitrary<uint64_t>();
  }
  pattern.import.events = *rc::gen::arbitrary<uint64_t>();
  pattern.import.bytes = *rc::gen::arbitrary<uint64_t>();
  for (uint64_t& count : pattern.import.defects.count) {
    count = *rc::gen::arbitrary<uint64_t>();
  }
  pattern.import.notes = some<std::string>(3, [] { return *any_text(); });
  return pattern;
}

}  // namespace eroica
