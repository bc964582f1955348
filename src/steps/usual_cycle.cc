#include "steps/usual_cycle.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace eroica {
namespace {

constexpr size_t kKept = 16;  // cycles that are remembered

/// The commonest value, the smallest of equally common ones.
uint32_t commonest(const std::vector<uint32_t>& values) {
  std::map<uint32_t, size_t> times;
  for (const uint32_t value : values) ++times[value];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

}  // namespace

size_t UsualCycle::loader(uint64_t name_hash) {
  auto found = std::ranges::find(loaders_, name_hash);
  if (found == loaders_.end()) {
    if (loaders_.size() == kMostLoaders) return kMostLoaders - 1;
    loaders_.push_back(name_hash);
    found = std::prev(loaders_.end());
  }
  return static_cast<size_t>(found - loaders_.begin());
}

void UsualCycle::add(const Cycle& cycle) {
  if (cycles_.size() < kKept) {
    cycles_.push_back(cycle);
  } else {
    cycles_[next_] = cycle;
    next_ = (next_ + 1) % kKept;
  }
  refresh();
}

void UsualCycle::learn(std::span<const Mark> marks, const Anchor& anchor) {
  Cycle cycle;
  uint32_t row = 0;
  bool whole = false;
  int64_t begin_ns = 0;
  for (const Mark& mark : marks) {
    const bool anchors = mark.kind == anchor.kind && mark.name_hash == anchor.name_hash;
    if (anchors && ++row == anchor.per_step) {
      // A fetch begins the next cycle, an optimizer ends its own.
      const int64_t edge_ns = anchor.kind == MarkKind::kFetch ? mark.start_ns : mark.end_ns;
      cycle.duration_ns = edge_ns - begin_ns;
      if (whole) add(cycle);
      if (cycles_.size() == kKept) return;
      cycle = {};
      row = 0;
      whole = true;
      begin_ns = edge_ns;
    }
    if (mark.kind == MarkKind::kFetch) {
      if (row > 0) {  // a row that fell short: such a cycle teaches nothing
        cycle = {};
        row = 0;
        whole = false;
      }
      ++cycle.fetches[loader(mark.name_hash)];
    }
    if (mark.kind == MarkKind::kOptimizer && !anchors) ++cycle.other_optimizers;
  }
}

void UsualCycle::refresh() {
  const size_t count = cycles_.size();
  std::vector<uint32_t> values(count);
  for (size_t loader = 0; loader < kMostLoaders; ++loader) {
    for (size_t age = 0; age < count; ++age) {  // newest first
      values[age] = cycles_[(next_ + count - 1 - age) % count].fetches[loader];
    }
    const bool agreed = count >= 3 && values[0] == values[1] && values[1] == values[2];
    fetches_[loader] = agreed ? values[0] : commonest(values);
    const auto without = static_cast<size_t>(std::ranges::count(values, 0U));
    foreign_[loader] = fetches_[loader] == 0 && 2 * without > count;
  }
  total_fetches_ = std::accumulate(fetches_.begin(), fetches_.end(), 0U);

  most_other_optimizers_ = 0;
  std::vector<int64_t> durations;
  for (const Cycle& cycle : cycles_) {
    most_other_optimizers_ = std::max(most_other_optimizers_, cycle.other_optimizers);
    if (cycle.fetches == fetches_) durations.push_back(cycle.duration_ns);
  }
  steady_ = durations.size() * 3 >= count * 2;
  duration_ns_ = 0;
  if (!durations.empty()) {
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::ranges::nth_element(durations, middle);
    duration_ns_ = *middle;
  }
}

}  // namespace eroica
