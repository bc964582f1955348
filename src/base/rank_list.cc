#include "base/rank_list.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace eroica {
namespace {

struct Run {
  int32_t first;
  int32_t last;
};

std::string list_of(std::span<const Run> runs) {
  if (runs.empty()) return "";
  constexpr size_t kMostRuns = 12;
  const bool one = runs.size() == 1 && runs[0].first == runs[0].last;
  std::string text = one ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(runs.size(), kMostRuns); ++i) {
    if (i > 0) text += ", ";
    const auto& [first, last] = runs[i];
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  if (runs.size() > kMostRuns) text += ", ...";
  return text;
}

}  // namespace

std::string rank_list(std::span<const int32_t> ranks) {
  std::vector<int32_t> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  std::vector<Run> runs;
  for (const int32_t rank : sorted) {
    if (!runs.empty() && rank <= int64_t{runs.back().last} + 1) {
      runs.back().last = rank;
    } else {
      runs.push_back({rank, rank});
    }
  }
  return list_of(runs);
}

std::string missing_ranks(std::span<const int32_t> present, int32_t world_size) {
  std::vector<Run> runs;
  int32_t next = 0;
  for (const int32_t rank : present) {
    if (rank >= world_size) break;
    if (rank > next) runs.push_back({next, rank - 1});
    next = std::max(next, rank + 1);
  }
  if (next < world_size) runs.push_back({next, world_size - 1});
  return list_of(runs);
}

}  // namespace eroica
