#include "diagnose/baseline_fit.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace eroica {
namespace {

constexpr double kLeastCommonTime = 0.5;    // of the communication
constexpr double kLeastCommonNames = 0.25;  // of the compute functions; other math renames the matrix products
constexpr double kNoCommunication = 0.01;   // of the window

std::set<std::string_view> devices(const Job& job) {
  std::set<std::string_view> models;
  for (const RankFacts& rank : job.ranks) {
    if (rank.device != 0) models.insert(job.words[rank.device]);
  }
  return models;
}

/// Time by what a layout determines: which collectives run in groups of which size.
std::map<std::pair<std::string_view, int32_t>, double> layout(const Job& job) {
  std::map<std::pair<std::string_view, int32_t>, double> time;
  for (const CollectiveUse& use : job.collectives) time[{job.words[use.kind], job.groups[use.group].size}] += use.total;
  return time;
}

template <typename Map>
double share_known(const Map& of, const Map& to) {
  double known = 0;
  double all = 0;
  for (const auto& [key, time] : of) {
    all += time;
    if (to.contains(key)) known += time;
  }
  return all > 0 ? known / all : 1;
}

double communication(const Job& job) {
  double share = 0;
  for (const RankFacts& rank : job.ranks) share += rank.share[static_cast<size_t>(TimeClass::kCommunication)];
  return job.ranks.empty() ? 0 : share / static_cast<double>(job.ranks.size());
}

std::set<uint64_t> compute_functions(const Job& job) {
  std::set<uint64_t> hashes;
  for (const JobFunction& function : job.functions) {
    if (function.kind == FunctionKind::kCompute) hashes.insert(function.hash);
  }
  return hashes;
}

}  // namespace

std::string misfit_of_baseline(const Job& now, const Job& then) {
  if (then.ranks.empty()) return "it has no ranks";
  if (now.gpu_job != then.gpu_job) return "only one of the two computes on accelerators";
  const auto models_now = devices(now);
  const auto models_then = devices(then);
  if (!models_now.empty() && !models_then.empty() && models_now != models_then) {
    return fmt::format("it ran on {}, and this one on {}", fmt::join(models_then, ", "), fmt::join(models_now, ", "));
  }
  if (now.world_size > 0 && then.world_size > 0 && now.world_size != then.world_size) {
    return fmt::format("it had {} ranks, and this one has {}", then.world_size, now.world_size);
  }
  const auto layout_now = layout(now);
  const auto layout_then = layout(then);
  const bool communicates = communication(now) > kNoCommunication || communication(then) > kNoCommunication;
  if (communicates &&
      std::min(share_known(layout_now, layout_then), share_known(layout_then, layout_now)) < kLeastCommonTime) {
    return "its collectives and the sizes of their groups are others: another layout";
  }
  const std::set<uint64_t> functions_now = compute_functions(now);
  const std::set<uint64_t> functions_then = compute_functions(then);
  const size_t fewer = std::min(functions_now.size(), functions_then.size());
  const auto common =
      std::ranges::count_if(functions_now, [&](uint64_t hash) { return functions_then.contains(hash); });
  if (fewer > 0 && static_cast<double>(common) < kLeastCommonNames * static_cast<double>(fewer)) {
    return "it ran other kernels or operators: another program";
  }
  return {};
}

}  // namespace eroica
