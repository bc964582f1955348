#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace eroica {

/// What a step graph is made of: operations ("nodes"), what must end before what begins, and which begin together.
struct StepGraphSpec {
  static constexpr uint32_t kAlone = 0xffffffff;
  std::vector<uint32_t> step;                        ///< of each node; not descending
  std::vector<uint32_t> sync_group;                  ///< of each node; kAlone, or a number shared by its peers
  std::vector<std::pair<uint32_t, uint32_t>> after;  ///< (earlier, later) node, both of one step
};

/// Operations ordered so that one pass computes when each ends. A *unit* is a node alone, or a sync group (a
/// collective, a send with its receive): its members begin together, when the last of them is ready, and each takes its
/// own duration, from which the wait for peers has been removed. Steps are independent of each other and begin at 0.
/// After Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI '25).
/// Everything below is in graph order: `place` i is the i-th node of that one pass.
struct StepGraph {
  std::vector<uint32_t> node;             ///< the spec's node at each place
  std::vector<uint32_t> unit_first;       ///< first place of each unit, and one past the last
  std::vector<uint32_t> step_first_unit;  ///< of each step, and one past the last
  std::vector<uint32_t> before_first;     ///< first entry in `before` of each place, and one past the last
  std::vector<uint32_t> before;           ///< places that must end before a place is ready; all in earlier units
  uint64_t broken_edges = 0;              ///< dependencies left out because they ran in a circle

  [[nodiscard]] size_t size() const { return node.size(); }
  [[nodiscard]] size_t steps() const { return step_first_unit.empty() ? 0 : step_first_unit.size() - 1; }
};

/// Linear in nodes and edges. Edges between steps or beyond the nodes are left out; a circle is cut at its lowest node.
StepGraph build_step_graph(const StepGraphSpec& spec);

/// When the last operation of each step ends, for durations in ns (by place). Linear; any unit of time does.
std::vector<double> simulate(const StepGraph& graph, std::span<const double> duration_ns);
/// Their mean; 0 without steps.
double simulate_mean(const StepGraph& graph, std::span<const double> duration_ns);

/// For each part p < parts, the mean step time when the operations with part[place] == p take `replaced_ns` and all
/// others `base_ns`. As simulate() once a part, but many in one pass.
std::vector<double> simulate_each(const StepGraph& graph, std::span<const double> base_ns,
                                  std::span<const double> replaced_ns, std::span<const uint32_t> part, uint32_t parts);

}  // namespace eroica
