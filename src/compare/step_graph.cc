#include "compare/step_graph.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace eroica {
namespace {

constexpr size_t kLanes = 8;

/// Lists of equal kind, one after the other: those of item i are values[first[i]] … values[first[i + 1] − 1].
struct Lists {
  std::vector<uint32_t> first;
  std::vector<uint32_t> values;
  [[nodiscard]] std::span<const uint32_t> of(uint32_t i) const {
    return std::span(values).subspan(first[i], first[i + 1] - first[i]);
  }
};

/// The pairs' values by their keys, in the order of the pairs.
template <typename Key, typename Value, typename Pairs>
Lists lists_of(size_t keys, const Pairs& pairs, Key key, Value value) {
  Lists lists;
  lists.first.assign(keys + 1, 0);
  for (const auto& pair : pairs) ++lists.first[key(pair) + 1];
  std::partial_sum(lists.first.begin(), lists.first.end(), lists.first.begin());
  lists.values.resize(lists.first.back());
  std::vector<uint32_t> next(lists.first.begin(), lists.first.end() - 1);
  for (const auto& pair : pairs) lists.values[next[key(pair)]++] = value(pair);
  return lists;
}

using Edge = std::pair<uint32_t, uint32_t>;

/// The units by their first members: of each node its unit, of each unit its nodes.
struct Units {
  std::vector<uint32_t> of_node;
  Lists nodes;
};

Units units_of(const StepGraphSpec& spec) {
  const auto count = static_cast<uint32_t>(spec.step.size());
  uint32_t groups = 0;
  for (const uint32_t group : spec.sync_group) {
    if (group != StepGraphSpec::kAlone) groups = std::max(groups, group + 1);
  }
  std::vector<uint32_t> unit_of_group(groups, StepGraphSpec::kAlone);
  Units units;
  units.of_node.resize(count);
  uint32_t unit_count = 0;
  for (uint32_t node = 0; node < count; ++node) {
    const uint32_t group = spec.sync_group[node];
    if (group == StepGraphSpec::kAlone) {
      units.of_node[node] = unit_count++;
      continue;
    }
    if (unit_of_group[group] == StepGraphSpec::kAlone) unit_of_group[group] = unit_count++;
    units.of_node[node] = unit_of_group[group];
  }
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  units.nodes = lists_of(
      unit_count, all, [&units](uint32_t node) { return units.of_node[node]; }, [](uint32_t node) { return node; });
  return units;
}

/// Units in an order in which each comes after what it waits for (Kahn); where only circles are left, the lowest goes.
std::vector<uint32_t> order_of(const Units& units, const Lists& later) {
  const auto count = static_cast<uint32_t>(units.nodes.first.size() - 1);
  std::vector<uint32_t> waits_for(count, 0);
  for (const uint32_t node : later.values) ++waits_for[units.of_node[node]];
  std::vector<uint32_t> order;
  order.reserve(count);
  std::vector<bool> taken(count, false);
  const auto take = [&](uint32_t unit) {
    taken[unit] = true;
    order.push_back(unit);
  };
  size_t done = 0;
  const auto drain = [&] {
    for (; done < order.size(); ++done) {
      for (const uint32_t node : units.nodes.of(order[done])) {
        for (const uint32_t next : later.of(node)) {
          const uint32_t unit = units.of_node[next];
          if (--waits_for[unit] == 0 && !taken[unit]) take(unit);
        }
      }
    }
  };
  // One lowest unit after the other keeps neighbours in time near each other in memory.
  for (uint32_t unit = 0; unit < count; ++unit) {
    if (taken[unit] || waits_for[unit] != 0) continue;
    take(unit);
    drain();
  }
  for (uint32_t unit = 0; unit < count; ++unit) {
    if (taken[unit]) continue;
    take(unit);
    drain();
  }
  return order;
}

}  // namespace

StepGraph build_step_graph(const StepGraphSpec& spec) {
  const auto count = static_cast<uint32_t>(spec.step.size());
  const Units units = units_of(spec);
  std::vector<Edge> edges;
  edges.reserve(spec.after.size());
  for (const Edge& edge : spec.after) {
    if (edge.first < count && edge.second < count && spec.step[edge.first] == spec.step[edge.second]) {
      edges.push_back(edge);
    }
  }
  const Lists later = lists_of(
      count, edges, [](const Edge& edge) { return edge.first; }, [](const Edge& e) { return e.second; });
  const Lists earlier = lists_of(
      count, edges, [](const Edge& edge) { return edge.second; }, [](const Edge& e) { return e.first; });

  std::vector<uint32_t> order = order_of(units, later);
  const auto step_of = [&](uint32_t unit) { return spec.step[units.nodes.of(unit).front()]; };
  std::ranges::stable_sort(order, {}, step_of);

  StepGraph graph;
  std::vector<uint32_t> place(count);
  std::vector<uint32_t> position(order.size());
  graph.node.reserve(count);
  graph.unit_first.reserve(order.size() + 1);
  for (uint32_t at = 0; at < order.size(); ++at) {
    position[order[at]] = at;
    if (at == 0 || step_of(order[at]) != step_of(order[at - 1])) graph.step_first_unit.push_back(at);
    graph.unit_first.push_back(static_cast<uint32_t>(graph.node.size()));
    for (const uint32_t node : units.nodes.of(order[at])) {
      place[node] = static_cast<uint32_t>(graph.node.size());
      graph.node.push_back(node);
    }
  }
  graph.unit_first.push_back(count);
  graph.step_first_unit.push_back(static_cast<uint32_t>(order.size()));

  graph.before.reserve(edges.size());
  graph.before_first.reserve(count + 1);
  for (const uint32_t node : graph.node) {
    graph.before_first.push_back(static_cast<uint32_t>(graph.before.size()));
    for (const uint32_t before : earlier.of(node)) {
      if (position[units.of_node[before]] < position[units.of_node[node]]) {
        graph.before.push_back(place[before]);
      } else {
        ++graph.broken_edges;
      }
    }
  }
  graph.before_first.push_back(static_cast<uint32_t>(graph.before.size()));
  return graph;
}

std::vector<double> simulate(const StepGraph& graph, std::span<const double> duration_ns) {
  std::vector<double> end_ns(graph.size());
  std::vector<double> steps_ns;
  steps_ns.reserve(graph.steps());
  for (size_t step = 0; step < graph.steps(); ++step) {
    double last_ns = 0;
    for (uint32_t unit = graph.step_first_unit[step]; unit < graph.step_first_unit[step + 1]; ++unit) {
      const uint32_t from = graph.unit_first[unit];
      const uint32_t to = graph.unit_first[unit + 1];
      double start_ns = 0;
      for (uint32_t at = graph.before_first[from]; at < graph.before_first[to]; ++at) {
        start_ns = std::max(start_ns, end_ns[graph.before[at]]);
      }
      for (uint32_t place = from; place < to; ++place) {
        end_ns[place] = start_ns + duration_ns[place];
        last_ns = std::max(last_ns, end_ns[place]);
      }
    }
    steps_ns.push_back(last_ns);
  }
  return steps_ns;
}

double simulate_mean(const StepGraph& graph, std::span<const double> duration_ns) {
  const std::vector<double> steps_ns = simulate(graph, duration_ns);
  if (steps_ns.empty()) return 0;
  return std::accumulate(steps_ns.begin(), steps_ns.end(), 0.0) / static_cast<double>(steps_ns.size());
}

std::vector<double> simulate_each(const StepGraph& graph, std::span<const double> base_ns,
                                  std::span<const double> replaced_ns, std::span<const uint32_t> part, uint32_t parts) {
  using Lanes = std::array<double, kLanes>;
  std::vector<Lanes> end_ns(graph.size());
  std::vector<double> means_ns(parts, 0.0);
  for (size_t step = 0; step < graph.steps(); ++step) {
    for (uint32_t first_part = 0; first_part < parts; first_part += kLanes) {
      Lanes last_ns{};
      for (uint32_t unit = graph.step_first_unit[step]; unit < graph.step_first_unit[step + 1]; ++unit) {
        const uint32_t from = graph.unit_first[unit];
        const uint32_t to = graph.unit_first[unit + 1];
        Lanes start_ns{};
        for (uint32_t at = graph.before_first[from]; at < graph.before_first[to]; ++at) {
          const Lanes& before = end_ns[graph.before[at]];
          for (size_t lane = 0; lane < kLanes; ++lane) start_ns[lane] = std::max(start_ns[lane], before[lane]);
        }
        for (uint32_t place = from; place < to; ++place) {
          Lanes& end = end_ns[place];
          for (size_t lane = 0; lane < kLanes; ++lane) end[lane] = start_ns[lane] + base_ns[place];
          const uint32_t lane = part[place] - first_part;  // wraps where the part is not among these
          if (lane < kLanes) end[lane] = start_ns[lane] + replaced_ns[place];
          for (size_t l = 0; l < kLanes; ++l) last_ns[l] = std::max(last_ns[l], end[l]);
        }
      }
      for (uint32_t lane = 0; lane < kLanes && first_part + lane < parts; ++lane) {
        means_ns[first_part + lane] += last_ns[lane];
      }
    }
  }
  for (double& mean_ns : means_ns) mean_ns /= static_cast<double>(std::max<size_t>(graph.steps(), 1));
  return means_ns;
}

}  // namespace eroica
