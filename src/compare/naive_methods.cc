#include "compare/naive_methods.h"

#include <algorithm>
#include <vector>

#include "base/robust.h"

namespace eroica {
namespace {

/// What a rank shows: its largest value and the function that has it. No function: nothing to look at.
struct Shown {
  int32_t rank = -1;
  const FunctionPattern* function = nullptr;
  double value = 0;
};

std::optional<NaiveFinding> largest(std::vector<Shown> shown) {
  std::erase_if(shown, [](const Shown& one) { return one.function == nullptr; });
  if (shown.empty()) return std::nullopt;
  std::ranges::sort(shown, {}, &Shown::rank);
  const auto most = std::ranges::max_element(shown, {}, &Shown::value);
  std::vector<double> others;
  for (auto one = shown.begin(); one != shown.end(); ++one) {
    if (one != most) others.push_back(one->value);
  }
  return NaiveFinding{most->function->name, most->function->kind, most->rank, most->value, median(others)};
}

}  // namespace

std::optional<NaiveFinding> largest_total(std::span<const RankPattern> patterns) {
  std::vector<Shown> shown;
  for (const RankPattern& pattern : patterns) {
    Shown one{pattern.rank};
    const auto window = static_cast<double>(std::max<int64_t>(pattern.window_ns, 1));
    for (const FunctionPattern& function : pattern.functions) {
      const double share = static_cast<double>(function.total_ns) / window;
      if (one.function != nullptr && share <= one.value) continue;
      one.function = &function;
      one.value = share;
    }
    shown.push_back(one);
  }
  return largest(std::move(shown));
}

std::optional<NaiveFinding> longest_collective(std::span<const RankPattern> patterns) {
  std::vector<Shown> shown;
  for (const RankPattern& pattern : patterns) {
    Shown one{pattern.rank};
    double total_ms = 0;
    double executions = 0;
    for (const FunctionPattern& function : pattern.functions) {
      if (function.kind != FunctionKind::kCollective || function.executions == 0) continue;
      total_ms += static_cast<double>(function.total_ns) * 1e-6;
      executions += static_cast<double>(function.executions);
      if (one.function == nullptr || function.total_ns > one.function->total_ns) one.function = &function;
    }
    if (executions > 0) one.value = total_ms / executions;
    shown.push_back(one);
  }
  return largest(std::move(shown));
}

}  // namespace eroica
