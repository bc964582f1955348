#include "compare/eroica_method.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr double kLeastShare = 0.01;
constexpr double kMostHostShare = 0.01;  // expected of Python
constexpr double kFar = 0.4;             // δ
constexpr size_t kMostSampled = 100;     // N
constexpr double kDeviations = 5;

/// (β, µ, σ) of a function on a worker.
struct Point {
  double share = 0;
  double mean = 0;
  double deviation = 0;
};

bool on_host(FunctionKind kind) {
  return kind != FunctionKind::kCompute && kind != FunctionKind::kMemory && kind != FunctionKind::kCollective;
}

using Metrics = std::span<const std::string_view>;

/// What a function of this kind uses: the first of these families that was sampled counts.
std::vector<Metrics> families(FunctionKind kind) {
  static constexpr std::array<std::string_view, 1> kMultiprocessors{"gpu.sm_active"};
  static constexpr std::array<std::string_view, 2> kPcie{"gpu.pcie_transmit", "gpu.pcie_receive"};
  static constexpr std::array<std::string_view, 1> kMemory{"gpu.dram_active"};
  static constexpr std::array<std::string_view, 4> kNetwork{"net.transmit", "net.receive", "gpu.nvlink_transmit",
                                                            "gpu.nvlink_receive"};
  static constexpr std::array<std::string_view, 1> kCpu{"cpu.run"};
  switch (kind) {
    case FunctionKind::kCompute:
      return {kMultiprocessors, kCpu};
    case FunctionKind::kMemory:
      return {kPcie, kMemory, kCpu};
    case FunctionKind::kCollective:
      return {kNetwork, kCpu};
    default:
      return {kCpu};
  }
}

/// One function on one worker, with its index in the ranks' order.
struct Use {
  size_t worker;
  const FunctionPattern* pattern;
  double share;
};

/// The metric of the family with the largest mean on any worker; empty: none was sampled.
std::string_view busiest(const std::vector<Use>& uses, Metrics family) {
  std::string_view found;
  double most = -1;
  for (const Use& use : uses) {
    for (const HardwareUse& hardware : use.pattern->hardware) {
      if (hardware.mean <= most) continue;
      const auto metric = std::ranges::find(family, hardware.metric);
      if (metric == family.end()) continue;
      found = *metric;
      most = hardware.mean;
    }
  }
  return found;
}

std::string_view resource(const std::vector<Use>& uses, FunctionKind kind) {
  for (const Metrics family : families(kind)) {
    if (const std::string_view metric = busiest(uses, family); !metric.empty()) return metric;
  }
  return {};
}

std::vector<Point> points(const std::vector<Use>& uses, FunctionKind kind, size_t workers) {
  std::vector<Point> result(workers);
  const std::string_view metric = resource(uses, kind);
  for (const Use& use : uses) {
    Point& point = result[use.worker];
    point.share = use.share;
    const HardwareUse* most = nullptr;
    for (const HardwareUse& hardware : use.pattern->hardware) {
      if (hardware.metric == metric && (most == nullptr || hardware.mean > most->mean)) most = &hardware;
    }
    if (most != nullptr) {
      point.mean = most->mean;
      point.deviation = most->deviation;
    }
  }
  return result;
}

std::vector<Point> normalised(std::vector<Point> all) {
  for (double Point::*const part : {&Point::share, &Point::mean, &Point::deviation}) {
    double most = 0;
    for (const Point& point : all) most = std::max(most, point.*part);
    if (most <= 0) continue;
    for (Point& point : all) point.*part /= most;
  }
  return all;
}

double distance(const Point& a, const Point& b) {
  return std::abs(a.share - b.share) + std::abs(a.mean - b.mean) + std::abs(a.deviation - b.deviation);
}

/// Δ of every worker.
std::vector<double> differing(const std::vector<Point>& all) {
  const std::vector<Point> scaled = normalised(all);
  const size_t sampled = std::min(all.size(), kMostSampled);
  std::vector<double> result(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t s = 0; s < sampled; ++s) {
      if (distance(scaled[i], scaled[s * all.size() / sampled]) >= kFar) ++result[i];
    }
  }
  return result;
}

std::optional<AbnormalFunction> judge(uint64_t function, const std::vector<Use>& uses,
                                      std::span<const RankPattern* const> workers) {
  AbnormalFunction found{.function = function, .kind = uses.front().pattern->kind, .ranks = {}};
  found.sampled = static_cast<uint32_t>(std::min(workers.size(), kMostSampled));
  const std::vector<Point> all = points(uses, found.kind, workers.size());
  const std::vector<double> differ = differing(all);
  const double unusual = median(differ) + kDeviations * median_absolute_deviation(differ);
  std::vector<double> others;
  for (size_t i = 0; i < all.size(); ++i) {
    const double above = on_host(found.kind) ? std::max(0.0, all[i].share - kMostHostShare) : 0;
    if (all[i].share <= kLeastShare || (above <= 0 && differ[i] <= unusual)) {
      others.push_back(all[i].share);
      continue;
    }
    found.ranks.push_back(workers[i]->rank);
    found.share += all[i].share;
    found.out_of_range = std::max(found.out_of_range, above);
    found.differing = std::max(found.differing, static_cast<uint32_t>(differ[i]));
  }
  if (found.ranks.empty()) return std::nullopt;
  found.share /= static_cast<double>(found.ranks.size());
  found.others_share = median(others);
  return found;
}

}  // namespace

std::vector<AbnormalFunction> eroica_method(std::span<const RankPattern> patterns) {
  std::vector<const RankPattern*> workers;
  for (const RankPattern& pattern : patterns) workers.push_back(&pattern);
  std::ranges::sort(workers, {}, [](const RankPattern* pattern) { return pattern->rank; });

  std::map<uint64_t, std::vector<Use>> uses;
  for (size_t i = 0; i < workers.size(); ++i) {
    const auto window = static_cast<double>(std::max<int64_t>(workers[i]->window_ns, 1));
    for (const FunctionPattern& function : workers[i]->functions) {
      uses[function.name].push_back({i, &function, static_cast<double>(function.exposed_ns) / window});
    }
  }
  std::vector<AbnormalFunction> result;
  for (const auto& [function, of] : uses) {
    if (std::ranges::none_of(of, [](const Use& use) { return use.share > kLeastShare; })) continue;
    if (auto found = judge(function, of, workers)) result.push_back(std::move(*found));
  }
  std::ranges::stable_sort(result, [](const AbnormalFunction& a, const AbnormalFunction& b) {
    const double excess_a = a.share - a.others_share;
    const double excess_b = b.share - b.others_share;
    return excess_a != excess_b ? excess_a > excess_b : a.share > b.share;
  });
  return result;
}

}  // namespace eroica
