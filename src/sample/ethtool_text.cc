#include "sample/ethtool_text.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace eroica {
namespace {

bool has_any(const std::string& name, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

// What counts frames, and what counts times, states or mistakes around them.
constexpr std::array<std::string_view, 3> kPause = {"pause", "xoff", "pfc"};
constexpr std::array<std::string_view, 9> kOther = {"duration", "transition", "storm", "discard", "time",
                                                    "usec",     "warn",       "err",   "byte"};
constexpr std::array<std::string_view, 3> kPriority = {"prio", "pfc", "_pri"};

uint64_t sum(const std::vector<size_t>& places, std::span<const uint64_t> values) {
  uint64_t total = 0;
  for (const size_t place : places) total += place < values.size() ? values[place] : 0;
  return total;
}

}  // namespace

PauseCounters find_pause_counters(std::span<const std::string> names) {
  PauseCounters found;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!has_any(names[i], kPause) || has_any(names[i], kOther)) continue;
    (has_any(names[i], kPriority) ? found.of_priorities : found.of_link).push_back(i);
  }
  return found;
}

uint64_t pause_frames(const PauseCounters& counters, std::span<const uint64_t> values) {
  return std::max(sum(counters.of_link, values), sum(counters.of_priorities, values));
}

}  // namespace eroica
