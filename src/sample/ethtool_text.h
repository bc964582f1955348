#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace eroica {

/// Which of a driver's statistics count pause frames, sent or received: places in `names`. Drivers name them as they
/// like. Those of single priorities stand apart, since some drivers count the same frames in both.
struct PauseCounters {
  std::vector<size_t> of_link;
  std::vector<size_t> of_priorities;
  [[nodiscard]] bool any() const { return !of_link.empty() || !of_priorities.empty(); }
};
PauseCounters find_pause_counters(std::span<const std::string> names);

/// Frames so far.
uint64_t pause_frames(const PauseCounters& counters, std::span<const uint64_t> values);

}  // namespace eroica
