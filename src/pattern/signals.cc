#include "pattern/signals.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/saturate.h"
#include "pattern/entity.h"
#include "pattern/hardware.h"

namespace eroica {
namespace {

constexpr size_t kMostCpuSignals = 16;

/// Whom a signal is about; those that tell more about a rank stand first.
enum class Owner : uint8_t { kRank, kGpu, kHost, kDevice, kPart, kCpu };

Owner owner_of(std::string_view entity) {
  switch (entity_kind(entity)) {
    case EntityKind::kRank: return Owner::kRank;
    case EntityKind::kGpu: return Owner::kGpu;
    case EntityKind::kHost: return Owner::kHost;
    case EntityKind::kNic:
    case EntityKind::kDisk: return Owner::kDevice;
    case EntityKind::kWorker:
    case EntityKind::kThread: return Owner::kPart;
    case EntityKind::kCpu: return Owner::kCpu;
    case EntityKind::kOther: break;
  }
  return entity.starts_with("rank ") ? Owner::kPart : Owner::kDevice;
}

bool is_taken_from_cpus(std::string_view metric) {
  return metric == "cpu.softirq" || metric == "cpu.irq" || metric == "cpu.steal";
}

struct Place {
  Owner owner;
  size_t of_metric;  // the how many-th of its metric among its owner's, largest first
  size_t index;
};

// The order in which signals are worth keeping, without CPUs that tell nothing.
std::vector<Place> by_importance(const std::vector<SignalUse>& signals) {
  std::vector<Place> places;
  for (size_t i = 0; i < signals.size(); ++i) {
    const Owner owner = owner_of(signals[i].entity);
    if (owner != Owner::kCpu || is_taken_from_cpus(signals[i].metric)) {
      places.push_back({owner, 0, i});
    }
  }
  const auto larger = [&](const Place& a, const Place& b) {
    return std::tie(signals[b.index].mean, a.index) < std::tie(signals[a.index].mean, b.index);
  };
  const auto cpus = std::partition(places.begin(), places.end(), [](const Place& p) { return p.owner != Owner::kCpu; });
  std::sort(cpus, places.end(), larger);
  places.resize(std::min(places.size(), static_cast<size_t>(cpus - places.begin()) + kMostCpuSignals));

  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    const auto group = [&](const Place& p) { return std::tie(p.owner, signals[p.index].metric); };
    return group(a) != group(b) ? group(a) < group(b) : larger(a, b);
  });
  for (size_t i = 1; i < places.size(); ++i) {
    const bool same = places[i].owner == places[i - 1].owner &&
                      signals[places[i].index].metric == signals[places[i - 1].index].metric;
    places[i].of_metric = same ? places[i - 1].of_metric + 1 : 0;
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.owner, a.of_metric, a.index) < std::tie(b.owner, b.of_metric, b.index);
  });
  return places;
}

}  // namespace

void sort_signals(std::vector<SignalUse>& signals) {
  std::stable_sort(signals.begin(), signals.end(), [](const SignalUse& a, const SignalUse& b) {
    return std::tie(a.metric, a.entity, a.unit) < std::tie(b.metric, b.entity, b.unit);
  });
}

void keep_signals(std::vector<SignalUse>& signals, size_t most) {
  if (signals.size() <= most) {
    return;
  }
  std::vector<bool> keeps(signals.size());
  const std::vector<Place> places = by_importance(signals);
  for (size_t i = 0; i < std::min(most, places.size()); ++i) {
    keeps[places[i].index] = true;
  }
  std::vector<SignalUse> kept;
  for (size_t i = 0; i < signals.size(); ++i) {
    if (keeps[i]) {
      kept.push_back(std::move(signals[i]));
    }
  }
  signals = std::move(kept);
}

void add_signals(std::span<const SampleSeries* const> series, int64_t base_unix_ns, RankPattern& pattern) {
  const int64_t origin_ns = saturating_subtract(base_unix_ns, pattern.window_start_unix_ns);
  for (const SampleSeries* one : series) {
    SignalUse use = signal_use(*one, origin_ns, pattern.window_ns);
    if (use.covered_ns > 0) {
      pattern.signals.push_back(std::move(use));
    }
  }
  sort_signals(pattern.signals);
  keep_signals(pattern.signals, kMostSignals);
}

}  // namespace eroica
