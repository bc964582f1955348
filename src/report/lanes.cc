#include "report/lanes.h"

namespace eroica {
namespace {

constexpr int64_t kRoundingNs = 2000;  // old traces hold whole microseconds

}  // namespace

Lanes::Place Lanes::place(int64_t start_ns, int64_t end_ns) {
  for (size_t lane = 0; lane < kMost; ++lane) {
    if (lane == open_ends_.size()) open_ends_.emplace_back();
    std::vector<int64_t>& open = open_ends_[lane];
    while (!open.empty() && open.back() <= start_ns) open.pop_back();
    const bool crosses = !open.empty() && end_ns > open.back();
    if (crosses && end_ns - open.back() > kRoundingNs && lane + 1 < kMost) continue;
    if (crosses) end_ns = open.back();
    open.push_back(end_ns);
    return {lane, end_ns};
  }
  return {kMost - 1, end_ns};
}

}  // namespace eroica
