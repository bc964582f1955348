#include "diagnose/wire_rate.h"

#include <algorithm>
#include <vector>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr double kReached = 0.8;  // of an interface's speed: what large transfers get at least where nothing is wrong
constexpr double kLeastTime = 0.01;  // of the window in transfers; less tells no rate
constexpr double kMost = 0.95;

/// Share of the window in which each rank moves data between hosts, waits for late members left out.
std::vector<double> time_on_wire(const Comparison& now) {
  const Job& job = *now.job;
  std::vector<double> share(job.ranks.size());
  for (const Transfer& transfer : now.transfers) {
    if (transfer.span != Span::kHosts) continue;
    for (const uint32_t rank : transfer.ranks) {
      for (const CollectiveUse& use : job.collectives_of(job.ranks[rank])) {
        if (use.group != transfer.group || use.kind != transfer.kind || job.step_ms <= 0) continue;
        share[rank] += use.count * transfer.transfer_us * 1e-3 / job.step_ms;
      }
    }
  }
  return share;
}

}  // namespace

std::optional<double> slow_wire_part(const Comparison& now, const Subject& subject) {
  const Job& job = *now.job;
  const Signal* speed = job.signal("net.speed");
  const Signal* transmit = job.signal("net.transmit");
  if (speed == nullptr || transmit == nullptr) return std::nullopt;
  double bytes_per_s = 0;
  for (const SignalValue& value : speed->values) bytes_per_s = std::max<double>(bytes_per_s, value.mean / 8);
  if (bytes_per_s <= 0) return std::nullopt;
  const std::vector<double> on_wire = time_on_wire(now);
  std::vector<double> parts;
  for (const SignalValue& value : transmit->values) {
    const Entity& entity = job.entities[value.entity];
    if (entity.kind != EntityKind::kNic) continue;
    std::vector<double> busy;
    bool ours = false;
    for (const uint32_t rank : entity.ranks) {
      ours = ours || subject.contains(rank);
      if (job.ranks[rank].observed) busy.push_back(std::min(1.0, on_wire[rank]));
    }
    if (!ours || busy.empty() || median(busy) < kLeastTime) continue;
    const double rate = value.mean / median(busy);
    parts.push_back(std::clamp(1 - rate / (kReached * bytes_per_s), 0.0, kMost));
  }
  return parts.empty() ? std::nullopt : std::optional<double>(median(parts));
}

}  // namespace eroica
