#include "compare/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "compare/timeline_graph.h"
#include "timeline_generator.h"

namespace eroica {
namespace {

constexpr uint32_t kAlone = StepGraphSpec::kAlone;

std::vector<double> placed(const StepGraph& graph, const std::vector<double>& by_node) {
  std::vector<double> result;
  for (const uint32_t node : graph.node) result.push_back(by_node[node]);
  return result;
}

TEST(StepGraph, ChainsStepsAndSyncGroups) {
  // Step 0: 0 → 1 and 2 → 3, where 1 and 3 begin together. Step 1: 4 alone.
  const StepGraph graph = build_step_graph(
      {.step = {0, 0, 0, 0, 1}, .sync_group = {kAlone, 0, kAlone, 0, kAlone}, .after = {{0, 1}, {2, 3}, {3, 4}}});
  EXPECT_EQ(graph.steps(), 2U);
  EXPECT_EQ(graph.broken_edges, 0U);
  EXPECT_THAT(simulate(graph, placed(graph, {3, 1, 7, 2, 5})), testing::ElementsAre(9, 5));
  EXPECT_THAT(simulate(graph, placed(graph, {8, 4, 7, 2, 5})), testing::ElementsAre(12, 5));
}

TEST(StepGraph, EmptyAndCircles) {
  const StepGraph empty = build_step_graph({});
  EXPECT_EQ(empty.steps(), 0U);
  EXPECT_EQ(simulate_mean(empty, {}), 0);
  const StepGraph circle =
      build_step_graph({.step = {0, 0, 0}, .sync_group = {kAlone, kAlone, kAlone}, .after = {{0, 1}, {1, 2}, {2, 0}}});
  EXPECT_EQ(circle.broken_edges, 1U);
  EXPECT_THAT(simulate(circle, placed(circle, {1, 2, 3})), testing::ElementsAre(6));
  EXPECT_EQ(build_step_graph({.step = {0, 0}, .sync_group = {0, 0}, .after = {{0, 1}}}).broken_edges, 1U);
}

StepGraphSpec random_spec() {
  StepGraphSpec spec;
  const auto count = *rc::gen::inRange<uint32_t>(1, 40);
  for (uint32_t i = 0; i < count; ++i) spec.step.push_back(i / 20);
  for (uint32_t i = 0; i < count; ++i) {
    const auto group = *rc::gen::inRange<uint32_t>(0, 8);
    spec.sync_group.push_back(group < 3 ? group + 3 * spec.step[i] : kAlone);
  }
  const auto edges = *rc::gen::inRange<size_t>(0, 80);
  for (size_t i = 0; i < edges; ++i) {
    spec.after.emplace_back(*rc::gen::inRange<uint32_t>(0, count), *rc::gen::inRange<uint32_t>(0, count));
  }
  return spec;
}

RC_GTEST_PROP(StepGraph, AnySpecGivesAnOrderThatHolds, ()) {
  const StepGraphSpec spec = random_spec();
  const StepGraph graph = build_step_graph(spec);
  std::vector<uint32_t> nodes = graph.node;
  std::ranges::sort(nodes);
  for (uint32_t i = 0; i < nodes.size(); ++i) RC_ASSERT(nodes[i] == i);
  for (uint32_t unit = 0; unit + 1 < graph.unit_first.size(); ++unit) {
    for (uint32_t at = graph.before_first[graph.unit_first[unit]]; at < graph.before_first[graph.unit_first[unit + 1]];
         ++at) {
      RC_ASSERT(graph.before[at] < graph.unit_first[unit]);
    }
  }
}

RC_GTEST_PROP(StepGraph, EachPartAsIfSimulatedAlone, ()) {
  const StepGraphSpec spec = random_spec();
  const StepGraph graph = build_step_graph(spec);
  const auto values = *rc::gen::container<std::vector<int>>(2 * graph.size(), rc::gen::inRange(0, 1000));
  const std::vector<double> all(values.begin(), values.end());
  const std::vector<double> base(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(graph.size()));
  const std::vector<double> other(all.begin() + static_cast<std::ptrdiff_t>(graph.size()), all.end());
  const auto part = *rc::gen::container<std::vector<uint32_t>>(graph.size(), rc::gen::inRange<uint32_t>(0, 11));
  const std::vector<double> means = simulate_each(graph, base, other, part, 11);
  for (uint32_t p = 0; p < 11; ++p) {
    std::vector<double> mixed = base;
    for (size_t i = 0; i < mixed.size(); ++i) mixed[i] = part[i] == p ? other[i] : base[i];
    RC_ASSERT(means[p] == simulate_mean(graph, mixed));
  }
}

RC_GTEST_PROP(TimelineGraph, SimulatesWhatWasExecuted, ()) {
  GeneratedJob job;
  job.dp = *rc::gen::inRange(1, 5);
  job.stages = *rc::gen::inRange(2, 6);
  job.chunks = *rc::gen::inRange(1, 4);
  job.micro_batches = job.stages * *rc::gen::inRange(1, 4);
  job.steps = 2;
  job.clocks_differ = *rc::gen::arbitrary<bool>();
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  job.own_ns = [seed](const GeneratedOp& op) {
    uint64_t mixed = seed;
    for (const int64_t part : {int64_t{op.dp}, int64_t{op.stage}, int64_t{op.step}, static_cast<int64_t>(op.type),
                               int64_t{op.chunk}, int64_t{op.micro_batch}}) {
      mixed = (mixed + static_cast<uint64_t>(part) + 1) * 0x9E3779B97F4A7C15U;
      mixed ^= mixed >> 29U;
    }
    const bool compute = op.type == OpType::kForwardCompute || op.type == OpType::kBackwardCompute;
    return static_cast<int64_t>((compute ? 20'000'000 : 2'000'000) + mixed % 10'000'000);
  };
  const GeneratedTimeline generated = generate(job);
  const TimelineGraph graph = build_timeline_graph(generated.timeline);
  RC_ASSERT(graph.unmatched == 0U);
  RC_ASSERT(graph.graph.broken_edges == 0U);
  const std::vector<double> steps_ns = simulate(graph.graph, graph.own_ns);
  RC_ASSERT(steps_ns.size() == generated.step_ns.size());
  for (size_t i = 0; i < steps_ns.size(); ++i) RC_ASSERT(std::abs(steps_ns[i] / generated.step_ns[i] - 1) < 1e-6);
}

}  // namespace
}  // namespace eroica
