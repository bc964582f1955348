#include "pattern/wire.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "pattern/instance_sampling.h"
#include "pattern/wire_limits.h"
#include "pattern/zstd_block.h"
#include "proto/pattern.pb.h"
#include "random_pattern.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

RankPattern through_wire(const RankPattern& pattern) {
  const Result<RankPattern> decoded = decode_pattern(encode_pattern(pattern));
  if (!decoded.ok()) {
    throw std::runtime_error(decoded.error().message);
  }
  return *decoded;
}

/// A window as training jobs have them: Zipf-like function times, measured noise in every number.
RankPattern training_window(size_t functions, size_t instances, size_t steps, uint32_t seed = 1) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  RankPattern pattern;
  pattern.rank = 3;
  pattern.gpu = 3;
  pattern.world_size = 64;
  pattern.host = "node7";
  pattern.job_id = "llama-70b";
  pattern.device = "NVIDIA H100 80GB HBM3";
  pattern.gpu_job = true;
  pattern.window_start_unix_ns = 1'700'000'000'000'000'000;
  pattern.window_ns = 3'000'000'000;
  pattern.step_source = StepSource::kSequence;
  pattern.labels = {{"rack", "r12"}, {"pipeline_stage", "3"}};
  const int64_t step_ns = pattern.window_ns / static_cast<int64_t>(std::max<size_t>(steps, 1));
  for (size_t i = 0; i < steps; ++i) {
    StepPattern step;
    step.number = static_cast<int64_t>(i) + 1000;
    step.start_ns = static_cast<int64_t>(i) * step_ns + up_to(1000);
    step.duration_ns = step_ns - up_to(1'000'000);
    for (size_t c : {0, 1, 2, 4, 7}) {
      step.budget[c] = up_to(static_cast<uint64_t>(step_ns) / 4);
    }
    step.fetch_ns = up_to(100'000);
    step.work = static_cast<float>(50'000'000 + up_to(1'000'000));
    pattern.steps.push_back(step);
  }
  pattern.budget = {2'000'000'000, 1'000'000, 600'000'000, 0, 300'000'000, 50'000'000, 0, 49'000'000};
  for (size_t i = 0; i < functions; ++i) {
    FunctionPattern function;
    function.name = random();
    function.kind = static_cast<FunctionKind>(random() % kFunctionKindCount);
    function.line = static_cast<int32_t>(up_to(2000));
    function.executions = 1 + random() % 4000;
    const int64_t mean = 1000 + 30'000'000 / static_cast<int64_t>(i + 1);
    for (int k = 0; k < 200; ++k) {
      function.durations.add(mean + up_to(static_cast<uint64_t>(mean) / 2), 1 + random() % 20);
    }
    function.total_ns = mean * static_cast<int64_t>(function.executions);
    function.self_ns = function.total_ns - up_to(static_cast<uint64_t>(mean));
    function.exposed_ns = function.total_ns / 2 + up_to(static_cast<uint64_t>(mean));
    function.longest_ns = 2 * mean;
    function.shape = static_cast<uint32_t>(random());
    function.shapes = static_cast<uint32_t>(1 + random() % 5);
    function.work = static_cast<float>(1000 * function.executions);
    if (function.kind == FunctionKind::kCompute) {
      function.beside_executions = function.executions / 3;
      function.beside_ns = function.total_ns / 3;
    }
    for (size_t s = 0; s < steps && i < 100; ++s) {
      function.step_exposed_us.push_back(static_cast<uint32_t>(mean / 1000 + up_to(200)));
    }
    for (uint64_t k = 1; k <= 2; ++k) {
      function.issuers.push_back({k * 77, 12, up_to(1'000'000'000)});
    }
    for (const char* metric : {"gpu.sm_active", "gpu.dram_active", "cpu.run"}) {
      function.hardware.push_back({metric, "host node7/gpu 3", "ratio", static_cast<double>(up_to(1024)) / 1024,
                                   static_cast<double>(up_to(256)) / 1024, up_to(3'000'000'000)});
    }
    pattern.functions.push_back(function);
  }
  for (const char* entity : {"rank 3", "host node7", "host node7/gpu 3", "host node7/nic mlx5_0"}) {
    for (const char* metric : {"a.run", "b.wait", "c.busy", "d.read", "e.write", "f.limit", "g.rtt", "h.power"}) {
      SignalUse use{metric, entity, "fraction", 0, 0, 0, 0, 3'000'000'000};
      for (double* value : {&use.mean, &use.deviation, &use.minimum, &use.maximum}) {
        *value = static_cast<float>(static_cast<double>(up_to(1'000'000)) / 1'000'000);
      }
      pattern.signals.push_back(use);
    }
  }
  std::sort(pattern.signals.begin(), pattern.signals.end(), [](const SignalUse& a, const SignalUse& b) {
    return std::tie(a.metric, a.entity) < std::tie(b.metric, b.entity);
  });
  pattern.groups = {{"0", "default_pg", {}, 64}, {"3", "TENSOR_MODEL_PARALLEL_GROUP", {0, 1, 2, 3}, 4}};
  for (int32_t rank = 0; rank < 64; ++rank) {
    pattern.groups[0].ranks.push_back(rank);
  }
  for (uint32_t i = 0; i < 4; ++i) {
    CollectiveSummary summary;
    summary.kind = i % 2 == 0 ? "all_reduce" : "all_gather";
    summary.dtype = "BFloat16";
    summary.group = i / 2;
    summary.count = instances / 4;
    summary.bytes = static_cast<int64_t>(instances) * 1'000'000;
    summary.total_ns = static_cast<int64_t>(instances) * 300'000;
    summary.durations.add(300'000, summary.count);
    summary.step_total_us.assign(steps, 12'000);
    pattern.collectives.push_back(summary);
  }
  for (size_t i = 0; i < instances; ++i) {
    CollectiveInstance instance;
    instance.summary = static_cast<uint32_t>(i % 4);
    instance.sequence = static_cast<int64_t>(50'000 + i / 4);
    instance.position = static_cast<uint32_t>(i / 4);
    instance.start_ns = static_cast<int64_t>(i) * pattern.window_ns / static_cast<int64_t>(instances) + up_to(100'000);
    instance.duration_ns = 300'000 + up_to(200'000);
    instance.bytes = 1'048'576;
    pattern.instances.push_back(instance);
  }
  pattern.instances_seen = instances;
  pattern.import.events = 200'000;
  return pattern;
}

/// In any order.
template <typename T>
bool same_elements(const std::vector<T>& a, const std::vector<T>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

struct Sums {
  uint64_t executions = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;
  int64_t exposed_ns = 0;
  int64_t bytes = 0;
  uint64_t beside_executions = 0;
  int64_t beside_ns = 0;
  bool operator==(const Sums&) const = default;
};

/// Over all functions and rest, by kind.
std::array<Sums, kFunctionKindCount> sums(const RankPattern& pattern) {
  std::array<Sums, kFunctionKindCount> all{};
  const auto add = [&](const FunctionPattern& function, size_t kind) {
    all[kind].executions += function.executions;
    all[kind].total_ns += function.total_ns;
    all[kind].self_ns += function.self_ns;
    all[kind].exposed_ns += function.exposed_ns;
    all[kind].bytes += function.bytes;
    all[kind].beside_executions += function.beside_executions;
    all[kind].beside_ns += function.beside_ns;
  };
  for (const FunctionPattern& function : pattern.functions) {
    add(function, static_cast<size_t>(function.kind));
  }
  for (size_t kind = 0; kind < kFunctionKindCount; ++kind) {
    add(pattern.rest[kind], kind);
  }
  return all;
}

TEST(Wire, AnOrdinaryWindowLosesLittle) {
  const RankPattern window = training_window(400, 1500, 40);
  const std::string encoded = encode_pattern(window);
  EXPECT_LE(encoded.size(), kMaxPatternBytes);
  const RankPattern decoded = through_wire(window);
  EXPECT_GE(decoded.functions.size(), 120u);
  EXPECT_EQ(decoded.instances.size(), 1500u);
  EXPECT_EQ(decoded.instance_sampling, 0u);
  EXPECT_EQ(decoded.steps, window.steps);
  EXPECT_EQ(decoded.budget, window.budget);
  EXPECT_EQ(decoded.groups, window.groups);
  EXPECT_EQ(decoded.labels, window.labels);
  EXPECT_EQ(decoded.signals, window.signals);
  EXPECT_EQ(sums(decoded), sums(window));
  // The first functions keep what localises a fault.
  for (size_t i = 0; i < 32; ++i) {
    const FunctionPattern& function = decoded.functions[i];
    EXPECT_EQ(function.step_exposed_us.size(), 40u);
    EXPECT_EQ(function.hardware.size(), 3u);
    EXPECT_GE(function.durations.buckets().size(), 12u);
  }
}

TEST(Wire, ASmallWindowLosesNothing) {
  RankPattern window = training_window(20, 100, 10);
  for (FunctionPattern& function : window.functions) {
    function.durations.compact(24);
    for (HardwareUse& use : function.hardware) {
      use.covered_ns = use.covered_ns / 1000 * 1000;
    }
  }
  const RankPattern decoded = through_wire(window);
  EXPECT_TRUE(same_elements(decoded.functions, window.functions));
  EXPECT_TRUE(decoded.collectives == window.collectives);
  EXPECT_TRUE(same_elements(decoded.instances, window.instances));
}

struct Huge {
  size_t functions;
  size_t instances;
  size_t steps;
};

class HugeInput : public ::testing::TestWithParam<Huge> {};

TEST_P(HugeInput, FitsAndKeepsEverySum) {
  RankPattern pattern = training_window(GetParam().functions, GetParam().instances, GetParam().steps);
  pattern.host.assign(1'000'000, 'h');
  pattern.job_id.assign(1'000'000, '\xff');
  pattern.step_note.assign(100'000, '\n');
  for (int i = 0; i < 1000; ++i) {
    pattern.labels[std::string(5000, 'k') + std::to_string(i)] = std::string(5000, static_cast<char>(i));
    pattern.import.notes.emplace_back(10'000, 'n');
  }
  const std::string encoded = encode_pattern(pattern);
  EXPECT_LE(encoded.size(), kMaxPatternBytes);
  EXPECT_GE(encoded.size(), kMaxPatternBytes / 2) << "room is wasted";
  const Result<RankPattern> decoded = decode_pattern(encoded);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(sums(*decoded), sums(pattern));
  EXPECT_EQ(decoded->budget, pattern.budget);
  EXPECT_EQ(decoded->instances_seen, GetParam().instances);
  EXPECT_EQ(encode_pattern(*decoded), encoded);
}

INSTANTIATE_TEST_SUITE_P(Wire, HugeInput,
                         ::testing::Values(Huge{100'000, 100, 40}, Huge{2000, 1'000'000, 40}, Huge{400, 2000, 10'000},
                                           Huge{30'000, 300'000, 5000}));

TEST(Wire, WhatCannotBeCompressedFitsToo) {
  std::mt19937_64 random(5);
  RankPattern pattern = training_window(300, 5000, 600);
  const auto noise = [&] {
    std::string text;
    for (int i = 0; i < 400; ++i) {
      text += static_cast<char>('!' + random() % 90);
    }
    return text;
  };
  pattern.groups.clear();
  for (int i = 0; i < 1000; ++i) {
    GroupPattern group{noise(), noise(), {}, 9};
    for (int k = 0; k < 30; ++k) {
      group.ranks.push_back(static_cast<int32_t>(random() % 1'000'000));
    }
    pattern.groups.push_back(group);
    CollectiveSummary summary;
    summary.kind = noise();
    summary.dtype = noise();
    summary.group = static_cast<uint32_t>(i);
    summary.count = random() % 1000;
    summary.total_ns = static_cast<int64_t>(random() % 1'000'000'000);
    for (int k = 0; k < 100; ++k) {
      summary.durations.add(static_cast<int64_t>(random() >> (1 + random() % 60)));
    }
    pattern.collectives.push_back(summary);
    pattern.labels[noise()] = noise();
    pattern.import.notes.push_back(noise());
    pattern.signals.push_back({noise(), noise(), noise(), std::nan(""), 1e300, -1e300, i * 1.1, -1});
  }
  for (FunctionPattern& function : pattern.functions) {
    function.hardware.clear();
    for (int k = 0; k < 40; ++k) {
      function.hardware.push_back({noise(), noise(), noise(), 1e300, std::nan(""), 1});
    }
  }
  const std::string encoded = encode_pattern(pattern);
  EXPECT_LE(encoded.size(), kMaxPatternBytes);
  const Result<RankPattern> decoded = decode_pattern(encoded);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(sums(*decoded), sums(pattern));
  uint64_t count_before = 0;
  uint64_t count_after = 0;
  for (const CollectiveSummary& summary : pattern.collectives) {
    count_before += summary.count;
  }
  for (const CollectiveSummary& summary : decoded->collectives) {
    count_after += summary.count;
  }
  EXPECT_EQ(count_after, count_before);
  EXPECT_EQ(encode_pattern(*decoded), encoded);
}

TEST(Wire, TheLastLimitsLeaveRoomWhateverTheText) {
  RankPattern pattern;
  std::mt19937_64 random(7);
  const WireLimits& last = wire_limits().back();
  EXPECT_EQ(last.functions, 0u);
  EXPECT_EQ(last.instances, 0u);
  const RankPattern kept = reduce(training_window(1000, 1000, 1000), last);
  EXPECT_LE(kept.steps.size(), 16u);
  EXPECT_LE(kept.groups.size(), 8u);
  EXPECT_LT(encode_pattern(kept).size(), kMaxPatternBytes / 4);
}

TEST(Wire, LimitsOnlyTighten) {
  const std::vector<WireLimits>& limits = wire_limits();
  for (size_t i = 1; i < limits.size(); ++i) {
    const WireLimits& a = limits[i - 1];
    const WireLimits& b = limits[i];
    EXPECT_LE(b.functions, a.functions);
    EXPECT_LE(b.with_series, a.with_series);
    EXPECT_LE(b.with_hardware, a.with_hardware);
    EXPECT_LE(b.fine_sketches, a.fine_sketches);
    EXPECT_LE(b.sketch_buckets, a.sketch_buckets);
    EXPECT_LE(b.instances, a.instances);
    EXPECT_LE(b.steps, a.steps);
    EXPECT_LE(b.groups, a.groups);
    EXPECT_LE(b.collectives, a.collectives);
    EXPECT_LE(b.notes, a.notes);
    EXPECT_LE(b.labels, a.labels);
    EXPECT_LE(b.signals, a.signals);
  }
}

TEST(Wire, AnOlderWritersPatternHasNoWorkAndNoSignals) {
  wire::Pattern message;
  message.ParseFromString(*unzstd_block(encode_pattern(training_window(5, 5, 5)), size_t{1} << 24));
  message.clear_signals();
  message.mutable_steps()->clear_work();
  const Result<RankPattern> decoded = decode_pattern(zstd_block(message.SerializeAsString()));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_TRUE(decoded->signals.empty());
  ASSERT_EQ(decoded->steps.size(), 5u);
  EXPECT_EQ(decoded->steps[3].work, 0);
}

TEST(Wire, LabelsOfVersionsAndEnvironmentStayLongest) {
  RankPattern pattern = training_window(5, 5, 5);
  for (int i = 0; i < 200; ++i) {
    pattern.labels["a" + std::to_string(i)] = "x";
  }
  pattern.labels["driver"] = "550.54";
  pattern.labels["torch"] = "2.9";
  pattern.labels["env.NCCL_IB_HCA"] = "mlx5";
  const RankPattern decoded = through_wire(pattern);
  EXPECT_EQ(decoded.labels.size(), kMaxLabels);
  EXPECT_EQ(decoded.labels.at("driver"), "550.54");
  EXPECT_EQ(decoded.labels.at("torch"), "2.9");
  EXPECT_EQ(decoded.labels.at("env.NCCL_IB_HCA"), "mlx5");
}

TEST(Wire, SignalsOfSingleCpusGoBeforeTheRanksOwn) {
  RankPattern pattern = training_window(3000, 5000, 60);
  const std::vector<SignalUse> own = pattern.signals;
  std::mt19937_64 random(3);
  const auto fraction = [&] { return static_cast<double>(random() % 1'000'000) / 1'000'000; };
  for (int cpu = 0; cpu < 120; ++cpu) {
    pattern.signals.push_back({"cpu.softirq", "host node7/cpu" + std::to_string(cpu), "fraction", fraction(),
                               fraction(), fraction(), fraction(), static_cast<int64_t>(random() % 3'000'000'000)});
  }
  const RankPattern decoded = through_wire(pattern);
  for (const SignalUse& use : own) {
    EXPECT_TRUE(std::find(decoded.signals.begin(), decoded.signals.end(), use) != decoded.signals.end()) << use.entity;
  }
  EXPECT_LT(decoded.signals.size(), pattern.signals.size());
}

TEST(Wire, SamplesOfTwoRanksJoin) {
  // Two ranks whose windows cut the sequence differently, and of which one has far more to tell.
  RankPattern a = training_window(10, 20'000, 10);
  RankPattern b = training_window(5000, 40'000, 10, 2);
  for (CollectiveInstance& instance : b.instances) {
    instance.sequence -= 37;
  }
  const auto kept = [](const RankPattern& pattern) {
    std::set<std::pair<uint32_t, int64_t>> keys;
    for (const CollectiveInstance& instance : pattern.instances) {
      keys.emplace(pattern.collectives[instance.summary].group, instance.sequence);
    }
    return keys;
  };
  const RankPattern wire_a = through_wire(a);
  const RankPattern wire_b = through_wire(b);
  ASSERT_GT(wire_a.instance_sampling, 0u);
  ASSERT_GT(wire_b.instance_sampling, wire_a.instance_sampling);
  const auto kept_a = kept(wire_a);
  const auto all_a = kept(a);
  size_t joined = 0;
  for (const auto& key : kept(wire_b)) {
    if (all_a.contains(key)) {
      EXPECT_TRUE(kept_a.contains(key)) << "kept by the rank that keeps fewer, so by the other as well";
      ++joined;
    }
  }
  EXPECT_GE(joined, 100u);
}

TEST(Wire, SendAndReceiveKeepTheSamePairs) {
  RankPattern sender = training_window(10, 20'000, 10);
  RankPattern receiver = sender;
  for (CollectiveSummary& summary : sender.collectives) {
    summary.kind = "send";
  }
  for (CollectiveSummary& summary : receiver.collectives) {
    summary.kind = "recv";
  }
  const RankPattern a = through_wire(sender);
  const RankPattern b = through_wire(receiver);
  EXPECT_EQ(a.instances, b.instances);
  EXPECT_LT(a.instances.size(), 20'000u);
}

TEST(Wire, WithoutSequenceNumbersAnUnbrokenRunIsKept) {
  RankPattern pattern = training_window(10, 20'000, 10);
  for (CollectiveInstance& instance : pattern.instances) {
    instance.sequence = -1;
  }
  const RankPattern decoded = through_wire(pattern);
  ASSERT_GE(decoded.instances.size(), 1000u);
  std::map<uint32_t, std::set<uint32_t>> positions;
  for (const CollectiveInstance& instance : decoded.instances) {
    positions[instance.summary].insert(instance.position);
  }
  EXPECT_EQ(positions.size(), 4u);
  for (const auto& [summary, kept] : positions) {
    EXPECT_EQ(*kept.begin(), 0u);
    EXPECT_EQ(*kept.rbegin() + 1, kept.size());
  }
}

TEST(Wire, LongRunsOfStepsKeepTheirFrontAndSaySo) {
  const RankPattern decoded = through_wire(training_window(5, 5, 3000));
  EXPECT_LE(decoded.steps.size(), 512u);
  EXPECT_GE(decoded.steps.size(), 128u);
  EXPECT_EQ(decoded.steps.front().number, 1000);
  EXPECT_EQ(decoded.steps.back().number, 999 + static_cast<int64_t>(decoded.steps.size()));
  EXPECT_THAT(decoded.step_note, HasSubstr("of 3000 steps are kept"));
}

TEST(Wire, ManyRanksInAGroupCostNothing) {
  RankPattern pattern;
  pattern.groups = {{"0", "world", {}, 500'000}, {"1", "odd", {}, -1}};
  for (int32_t rank = 0; rank < 500'000; ++rank) {
    pattern.groups[0].ranks.push_back(rank);
  }
  for (int32_t rank = 0; rank < 2000; ++rank) {
    pattern.groups[1].ranks.push_back(rank * rank);
  }
  const RankPattern decoded = through_wire(pattern);
  EXPECT_LT(encode_pattern(pattern).size(), 500u);
  EXPECT_EQ(decoded.groups[0], pattern.groups[0]);
  EXPECT_TRUE(decoded.groups[1].ranks.empty()) << "unknown, rather than cut";
  EXPECT_EQ(decoded.groups[1].size, 2000);
}

TEST(Wire, NonsenseIsMadeSensible) {
  RankPattern pattern;
  pattern.window_ns = -5;
  pattern.groups = {{"g", "", {3, -7}, -9}};
  CollectiveSummary summary;
  summary.group = 99;
  summary.total_ns = -1;
  pattern.collectives = {summary};
  CollectiveInstance instance;
  instance.sequence = -50;
  instance.duration_ns = -1;
  instance.peer = -3;
  CollectiveInstance dangling;
  dangling.summary = 7;
  pattern.instances = {instance, dangling};
  FunctionPattern function;
  function.total_ns = -3;
  function.self_ns = -4;
  function.line = -1;
  function.hardware = {{"m", "e", "u", std::numeric_limits<double>::infinity(), std::nan(""), -1}};
  function.work = std::nan("");
  function.shapes = 1'000'000;
  function.beside_ns = -9;
  pattern.functions = {function};
  const double infinite = std::numeric_limits<double>::infinity();
  pattern.signals = {{"m\n", "e\xff", "u", std::nan(""), infinite, -infinite, 1, -1}};
  const RankPattern decoded = through_wire(pattern);
  EXPECT_EQ(decoded.window_ns, 0);
  EXPECT_TRUE(decoded.groups[0].ranks.empty());
  EXPECT_EQ(decoded.collectives[0].group, 0u);
  ASSERT_EQ(decoded.instances.size(), 1u);
  EXPECT_EQ(decoded.instances[0].sequence, -1);
  EXPECT_EQ(decoded.instances[0].duration_ns, 0);
  EXPECT_EQ(decoded.instances[0].peer, -1);
  EXPECT_EQ(decoded.instances_seen, 2u);
  EXPECT_TRUE(std::isfinite(decoded.functions[0].hardware[0].mean));
  EXPECT_EQ(decoded.functions[0].hardware[0].deviation, 0);
  EXPECT_EQ(decoded.functions[0].work, 0);
  EXPECT_EQ(decoded.functions[0].shapes, kMostShapes);
  EXPECT_EQ(decoded.functions[0].beside_ns, 0);
  ASSERT_EQ(decoded.signals.size(), 1u);
  EXPECT_EQ(decoded.signals[0], (SignalUse{"m ", "e?", "u", 0, 0, 0, 1, 0}));
  pattern.groups.clear();
  EXPECT_EQ(through_wire(pattern).groups.size(), 1u);
}

RC_GTEST_PROP(Wire, WhatIsSmallComesBackAsItWas, ()) {
  const RankPattern pattern = any_pattern();
  const RankPattern decoded = through_wire(pattern);
  RC_ASSERT(decoded.rank == pattern.rank);
  RC_ASSERT(decoded.gpu == pattern.gpu);
  RC_ASSERT(decoded.world_size == pattern.world_size);
  RC_ASSERT(decoded.host == pattern.host);
  RC_ASSERT(decoded.job_id == pattern.job_id);
  RC_ASSERT(decoded.labels == pattern.labels);
  RC_ASSERT(decoded.device == pattern.device);
  RC_ASSERT(decoded.gpu_job == pattern.gpu_job);
  RC_ASSERT(decoded.window_start_unix_ns == pattern.window_start_unix_ns);
  RC_ASSERT(decoded.window_ns == pattern.window_ns);
  RC_ASSERT(decoded.step_source == pattern.step_source);
  RC_ASSERT(decoded.steps_numbered == pattern.steps_numbered);
  RC_ASSERT(decoded.step_note == pattern.step_note);
  RC_ASSERT(decoded.steps == pattern.steps);
  RC_ASSERT(decoded.budget == pattern.budget);
  RC_ASSERT(same_elements(decoded.functions, pattern.functions));
  RC_ASSERT(decoded.rest == pattern.rest);
  RC_ASSERT(decoded.signals == pattern.signals);
  RC_ASSERT(decoded.groups == pattern.groups);
  RC_ASSERT(decoded.collectives == pattern.collectives);
  RC_ASSERT(same_elements(decoded.instances, pattern.instances));
  RC_ASSERT(decoded.instance_sampling == pattern.instance_sampling);
  RC_ASSERT(decoded.instances_seen == pattern.instances_seen);
  RC_ASSERT(decoded.end == pattern.end);
  RC_ASSERT(decoded.category_ns == pattern.category_ns);
  RC_ASSERT(decoded.category_count == pattern.category_count);
  RC_ASSERT(decoded.import.events == pattern.import.events);
  RC_ASSERT(decoded.import.bytes == pattern.import.bytes);
  RC_ASSERT(decoded.import.defects.count == pattern.import.defects.count);
  RC_ASSERT(decoded.import.notes == pattern.import.notes);
}

RC_GTEST_PROP(Wire, EncodingIsAFixedPointAndBounded, ()) {
  const RankPattern pattern = any_pattern(*rc::gen::elementOf(std::vector<size_t>{2, 20, 100}));
  const std::string encoded = encode_pattern(pattern);
  RC_ASSERT(encoded.size() <= kMaxPatternBytes);
  const Result<RankPattern> decoded = decode_pattern(encoded);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(encode_pattern(*decoded) == encoded);
  RC_ASSERT(sums(*decoded) == sums(pattern));
}

RC_GTEST_PROP(Wire, EveryLimitKeepsTheSums, ()) {
  const RankPattern pattern = any_pattern(40);
  const WireLimits limits = *rc::gen::elementOf(wire_limits());
  const RankPattern kept = reduce(pattern, limits);
  RC_ASSERT(kept.functions.size() <= limits.functions);
  RC_ASSERT(kept.instances.size() <= limits.instances);
  RC_ASSERT(kept.collectives.size() <= limits.collectives);
  RC_ASSERT(kept.groups.size() <= limits.groups);
  RC_ASSERT(kept.labels.size() <= limits.labels);
  RC_ASSERT(kept.signals.size() <= limits.signals);
  RC_ASSERT(sums(kept) == sums(pattern));
  RC_ASSERT(encode_pattern(reduce(kept, wire_limits().front())) == encode_pattern(kept));
}

RC_GTEST_PROP(Wire, TheOrderOfTheInputDoesNotMatter, ()) {
  RankPattern pattern = any_pattern(20);
  std::set<uint64_t> names;
  std::erase_if(pattern.functions, [&](const FunctionPattern& f) { return !names.insert(f.name).second; });
  const std::string encoded = encode_pattern(pattern);
  std::mt19937 random(*rc::gen::arbitrary<uint32_t>());
  std::shuffle(pattern.functions.begin(), pattern.functions.end(), random);
  std::shuffle(pattern.instances.begin(), pattern.instances.end(), random);
  RC_ASSERT(encode_pattern(pattern) == encoded);
}

RC_GTEST_PROP(Wire, WhatComparisonNeedsIsTheWholeWithoutWhatItSays, ()) {
  const std::string encoded = encode_pattern(any_pattern());
  RankPattern expected = *decode_pattern(encoded);
  size_t with_hardware = 0;
  const auto is_small = [&](const FunctionPattern& function) {
    return static_cast<double>(std::max(function.exposed_ns, function.self_ns)) <
           kLeastTellingShare * static_cast<double>(expected.window_ns);
  };
  const auto shrink = [&](FunctionPattern& function) {
    function.step_exposed_us.clear();
    const bool small = is_small(function);
    if (small) {
      function.durations = {};
      function.issuers.clear();
    }
    if (small || function.kind != FunctionKind::kCompute) function.hardware.clear();
    if (!function.hardware.empty() && ++with_hardware > kFunctionsWithHardware) function.hardware.clear();
    std::erase_if(function.hardware, [](const HardwareUse& use) { return !use.metric.starts_with("gpu."); });
  };
  for (FunctionPattern& function : expected.functions) shrink(function);
  std::erase_if(expected.functions, [&](const FunctionPattern& function) {
    return function.kind != FunctionKind::kCompute && is_small(function);
  });
  for (FunctionPattern& function : expected.rest) shrink(function);
  for (CollectiveSummary& summary : expected.collectives) summary.step_total_us.clear();
  std::set<std::pair<uint32_t, int32_t>> peers;
  for (const CollectiveInstance& one : expected.instances) {
    if (one.peer >= 0) peers.emplace(one.summary, one.peer);
  }
  expected.instances.clear();
  for (const auto& [summary, peer] : peers) expected.instances.push_back({.summary = summary, .peer = peer});
  PatternDecoder decoder;
  const Result<RankPattern> decoded = decoder.decode(encoded, PatternDetail::kComparison);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(encode_pattern(*decoded) == encode_pattern(expected));
  RC_ASSERT(encode_pattern(*decoder.decode(encoded)) == encoded);  // what the decoder keeps does not show
  RankPattern used = any_pattern();
  RC_ASSERT(decoder.decode(encoded, PatternDetail::kWhole, used).ok());
  RC_ASSERT(encode_pattern(used) == encoded);
}

RC_GTEST_PROP(WireForComparison, AtLeastSoManyFunctionsHaveDetails, ()) {
  const std::string encoded = encode_pattern(any_pattern());
  const auto most = *rc::gen::inRange<size_t>(0, 12);
  PatternDecoder decoder;
  RankPattern all;
  RankPattern some;
  RC_ASSERT(decoder.decode(encoded, PatternDetail::kComparison, all).ok());
  RC_ASSERT(decoder.decode(encoded, PatternDetail::kComparison, some, most).ok());
  RC_ASSERT(some.functions.size() == all.functions.size());
  std::vector<int64_t> weights;
  const auto weight = [](const FunctionPattern& function) { return std::max(function.exposed_ns, function.self_ns); };
  for (const FunctionPattern& function : all.functions) weights.push_back(weight(function));
  std::ranges::sort(weights, std::greater<>());
  for (size_t i = 0; i < all.functions.size(); ++i) {
    FunctionPattern expected = all.functions[i];
    if (most == 0 || (most < weights.size() && weight(expected) < weights[most - 1])) {
      if (some.functions[i] == expected) continue;  // it had none, or is as good as one that counts
      expected.durations = {};
      expected.issuers.clear();
    }
    RC_ASSERT(some.functions[i] == expected);
  }
}

// What is not a pattern.

wire::Pattern message_of(const RankPattern& pattern) {
  wire::Pattern message;
  message.ParseFromString(*unzstd_block(encode_pattern(pattern), size_t{1} << 24));
  return message;
}

Error error_of(const wire::Pattern& message) {
  const Result<RankPattern> decoded = decode_pattern(zstd_block(message.SerializeAsString()));
  return decoded.ok() ? Error{Error::Kind::kInvalid, "accepted"} : decoded.error();
}

TEST(WireDamage, EveryReferenceOutOfRangeIsToldApart) {
  using Change = std::function<void(wire::Pattern&)>;
  constexpr uint64_t kTooMuch = uint64_t{1} << 63;
  const std::vector<std::pair<std::string, Change>> changes{
      {"name index", [](auto& m) { m.mutable_functions(0)->set_name(100'000); }},
      {"name index", [](auto& m) { m.mutable_functions(0)->mutable_issuers(0)->set_name(100'000); }},
      {"string index", [](auto& m) { m.mutable_functions(0)->mutable_hardware(0)->set_unit(100'000); }},
      {"kind is unknown", [](auto& m) { m.mutable_functions(0)->set_kind(static_cast<wire::FunctionKind>(77)); }},
      {"child_ns", [](auto& m) { m.mutable_functions(0)->set_child_ns(std::numeric_limits<int64_t>::max()); }},
      {"child_ns", [](auto& m) { m.mutable_functions(0)->set_child_ns(std::numeric_limits<int64_t>::min()); }},
      {"total_ns", [](auto& m) { m.mutable_functions(0)->set_total_ns(kTooMuch); }},
      {"function's work", [](auto& m) { m.mutable_functions(0)->set_work(-1); }},
      {"function's work is no number",
       [](auto& m) { m.mutable_functions(0)->set_work(std::numeric_limits<float>::infinity()); }},
      {"beside_ns", [](auto& m) { m.mutable_functions(0)->set_beside_ns(kTooMuch); }},
      {"step's work", [](auto& m) { m.mutable_steps()->set_work(0, -1); }},
      {"steps differ", [](auto& m) { m.mutable_steps()->add_work(1); }},
      {"string index", [](auto& m) { m.mutable_signals(0)->set_entity(100'000); }},
      {"signal's mean is no", [](auto& m) { m.mutable_signals(0)->set_mean(std::nanf("")); }},
      {"signal's minimum is no", [](auto& m) { m.mutable_signals(0)->set_minimum(std::nanf("")); }},
      {"signal's covered_us", [](auto& m) { m.mutable_signals(0)->set_covered_us(kTooMuch); }},
      {"no number", [](auto& m) { m.mutable_functions(0)->mutable_hardware(0)->set_mean(std::nanf("")); }},
      {"covered_us", [](auto& m) { m.mutable_functions(0)->mutable_hardware(0)->set_covered_us(kTooMuch); }},
      {"one value a step", [](auto& m) { m.mutable_functions(0)->add_step_exposed_delta_us(1); }},
      {"value of a series", [](auto& m) { m.mutable_functions(0)->set_step_exposed_delta_us(0, -1); }},
      {"one count a bucket", [](auto& m) { m.mutable_functions(0)->mutable_durations()->add_count(1); }},
      {"sketch is damaged", [](auto& m) { m.mutable_functions(0)->mutable_durations()->set_bucket_delta(1, 0); }},
      {"sketch is damaged",
       [](auto& m) { m.mutable_functions(0)->mutable_durations()->set_bucket_delta(0, 4'000'000'000); }},
      {"sketch is damaged", [](auto& m) { m.mutable_functions(0)->mutable_durations()->set_count(0, ~uint64_t{0}); }},
      {"of one kind", [](auto& m) { *m.add_rest() = m.rest(0); }},
      {"steps differ", [](auto& m) { m.mutable_steps()->add_flags(0); }},
      {"steps differ", [](auto& m) { m.mutable_steps()->add_budget_ns(0); }},
      {"step's duration", [](auto& m) { m.mutable_steps()->set_duration_ns(0, kTooMuch); }},
      {"step_source", [](auto& m) { m.set_step_source(9); }},
      {"rank", [](auto& m) { m.set_rank(4'000'000'000); }},
      {"collective's group", [](auto& m) { m.mutable_collectives(0)->set_group(9); }},
      {"group's ranks are", [](auto& m) { m.mutable_groups(0)->set_run_count(0, 4'000'000'000); }},
      {"group's ranks differ", [](auto& m) { m.mutable_groups(0)->add_run_count(1); }},
      {"group's ranks are", [](auto& m) { m.mutable_groups(0)->set_run_stride(0, 4'000'000'000); }},
      {"instances differ", [](auto& m) { m.mutable_instances()->add_bytes(1); }},
      {"instance's summary", [](auto& m) { m.mutable_instances()->set_summary(0, 9); }},
      {"sequence, position", [](auto& m) { m.mutable_instances()->set_sequence_delta(0, -5); }},
      {"sequence, position", [](auto& m) { m.mutable_instances()->set_position_delta(0, -5); }},
      {"sampling", [](auto& m) { m.mutable_instances()->set_sampling(64); }},
      {"fewer instances", [](auto& m) { m.mutable_instances()->set_seen(1); }},
      {"valid UTF-8", [](auto& m) { m.set_host("\xff"); }},
      {"valid UTF-8", [](auto& m) { m.set_strings(0, "a\nb"); }},
      {"damaged, or no pattern", [](auto& m) { m.set_version(0); }},
  };
  RankPattern pattern = training_window(20, 100, 10);
  pattern.rest[0].kind = FunctionKind::kCompute;
  pattern.rest[0].executions = 1;
  const wire::Pattern sound = message_of(pattern);
  ASSERT_EQ(error_of(sound).message, "accepted");
  for (const auto& [expected, change] : changes) {
    wire::Pattern message = sound;
    change(message);
    EXPECT_THAT(error_of(message).message, HasSubstr(expected));
    EXPECT_EQ(error_of(message).kind, Error::Kind::kInvalid);
  }
}

TEST(WireDamage, ANewerMajorVersionIsRefusedInWords) {
  wire::Pattern message = message_of(training_window(3, 3, 3));
  message.set_version(2);
  EXPECT_EQ(error_of(message).kind, Error::Kind::kUnsupported);
  EXPECT_THAT(error_of(message).message, HasSubstr("version 2, made by a newer eroica"));
}

TEST(WireDamage, FieldsOfANewerMinorVersionAreIgnored) {
  const RankPattern window = training_window(3, 3, 3);
  std::string bytes = message_of(window).SerializeAsString();
  bytes += std::string("\xaa\x3f\x03new", 6);  // field 1013, a string
  const Result<RankPattern> decoded = decode_pattern(zstd_block(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(encode_pattern(*decoded), encode_pattern(window));
}

TEST(WireDamage, FlippedBitsAreNoticed) {
  const std::string encoded = encode_pattern(training_window(30, 100, 10));
  for (size_t at = 0; at < encoded.size(); at += 7) {
    std::string damaged = encoded;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    const Result<RankPattern> decoded = decode_pattern(damaged);
    EXPECT_TRUE(!decoded.ok() || encode_pattern(*decoded) == encoded) << "at " << at;
  }
  for (size_t size = 0; size < encoded.size(); size += 13) {
    EXPECT_FALSE(decode_pattern(std::string_view(encoded).substr(0, size)).ok());
  }
  EXPECT_FALSE(decode_pattern(encoded + "x").ok());
}

RC_GTEST_PROP(WireDamage, AnyMessageIsRefusedOrUnderstood, ()) {
  // Damage below the checksums, as only a hostile writer makes it.
  std::string bytes = message_of(any_pattern()).SerializeAsString();
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  const Result<RankPattern> decoded = decode_pattern(zstd_block(bytes));
  if (decoded.ok()) {
    const std::string encoded = encode_pattern(*decoded);
    RC_ASSERT(encoded.size() <= kMaxPatternBytes);
    RC_ASSERT(encode_pattern(*decode_pattern(encoded)) == encoded);
  }
}

// Names.

NameTable some_names() {
  return {{1, {"augment", "", "train.py", FunctionKind::kPython, {"train.py: main", "train.py: epoch"}}},
          {2, {"kernel<float>", "at::native::kernel<4, float>", "", FunctionKind::kCompute, {}}},
          {~uint64_t{0}, {"aten::add", "", "", FunctionKind::kOperator, {}}}};
}

TEST(Names, ComeBackAsTheyWere) {
  const Result<NameTable> decoded = decode_names(encode_names(some_names()));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(*decoded, some_names());
  EXPECT_TRUE(decode_names(encode_names({}))->empty());
}

TEST(Names, ReferencedOnesAreListedOnce) {
  RankPattern pattern;
  pattern.functions.resize(3);
  pattern.functions[0].name = 9;
  pattern.functions[1].name = 4;
  pattern.functions[1].issuers = {{9, 1, 1}, {2, 1, 1}, {0, 1, 1}};
  pattern.functions[2].name = 4;
  EXPECT_EQ(referenced_names(pattern), (std::vector<uint64_t>{2, 4, 9}));
}

TEST(Names, MergingDoesNotDependOnTheOrder) {
  NameTable other{{1, {"zoom", "", "train.py", FunctionKind::kPython, {}}},
                  {3, {"new", "", "", FunctionKind::kSync, {}}}};
  NameTable a = some_names();
  NameTable b = other;
  EXPECT_EQ(merge_names(a, other), 1u);
  EXPECT_EQ(merge_names(b, some_names()), 1u);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.size(), 4u);
  EXPECT_EQ(a.at(1).text, "augment");
  EXPECT_EQ(merge_names(a, a), 0u);
}

TEST(Names, LongOnesAreCutAndBadOnesRefused) {
  NameTable names;
  names[1] = {std::string(100'000, 'x'), "", "", FunctionKind::kPython, std::vector<std::string>(5000, "a.py: f")};
  const Result<NameTable> decoded = decode_names(encode_names(names));
  ASSERT_TRUE(decoded.ok());
  EXPECT_LE(decoded->at(1).text.size(), 1024u);
  EXPECT_EQ(decoded->at(1).path.size(), 128u);
  EXPECT_EQ(encode_names(*decoded), encode_names(names));

  wire::NameTable message;
  message.set_version(1);
  message.add_names()->set_text(1);
  EXPECT_FALSE(decode_names(zstd_block(message.SerializeAsString())).ok());
  message.add_strings("x");
  EXPECT_TRUE(decode_names(zstd_block(message.SerializeAsString())).ok());
  message.mutable_names(0)->set_kind(static_cast<wire::FunctionKind>(8));
  EXPECT_FALSE(decode_names(zstd_block(message.SerializeAsString())).ok());
  message.set_version(2);
  EXPECT_EQ(decode_names(zstd_block(message.SerializeAsString())).error().kind, Error::Kind::kUnsupported);
}

TEST(Names, AFewBytesCannotAskForGigabytes) {
  wire::NameTable message;
  message.set_version(1);
  message.add_strings(std::string(1000, 'x'));
  wire::Name* name = message.add_names();
  for (int i = 0; i < 1'000'000; ++i) {
    name->add_path(1);
  }
  EXPECT_FALSE(decode_names(zstd_block(message.SerializeAsString())).ok());
}

}  // namespace
}  // namespace eroica
