#include "simulate/physics.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "simulate/random.h"

namespace eroica {
namespace {

double unit(uint64_t seed, uint64_t index) { return static_cast<double>(hash_combine(seed, index) >> 11) * 0x1.0p-53; }

uint64_t seed_of(const Plant& plant, std::string_view purpose, int index) {
  return hash_combine(hash_combine(plant.job.seed, hash_bytes(purpose)), static_cast<uint64_t>(index));
}

}  // namespace

std::pair<int64_t, int64_t> Slices::at_or_after(int64_t t) const {
  const double period = static_cast<double>(slice_ns) / share;
  auto index = static_cast<int64_t>(std::floor(static_cast<double>(t) / period));
  for (index = std::max<int64_t>(index - 1, 0);; ++index) {
    const double free = period - static_cast<double>(slice_ns);
    const auto start = static_cast<int64_t>(static_cast<double>(index) * period + free * unit(seed, index));
    if (start + slice_ns > t) return {start, start + slice_ns};
  }
}

int64_t Slices::end_of(int64_t t, int64_t work_ns) const {
  if (share <= 0) return t + work_ns;
  while (true) {
    const auto [start, end] = at_or_after(t);
    if (start <= t) {
      t = end;
    } else if (start - t >= work_ns) {
      return t + work_ns;
    } else {
      work_ns -= start - t;
      t = end;
    }
  }
}

bool clock_held(const Plant& plant, int rank, int64_t t) {
  const GpuState& gpu = plant.gpus[rank];
  if (gpu.clock >= 1) return false;
  if (gpu.duty >= 1) return true;
  const auto period = static_cast<double>(gpu.duty_period_ns);
  const double phase = static_cast<double>(t) / period + unit(seed_of(plant, "duty", 0), 0);
  const double index = std::floor(phase);
  const double duty = gpu.duty * (0.85 + 0.3 * unit(seed_of(plant, "duty length", rank), static_cast<uint64_t>(index)));
  return phase - index < std::min(1.0, duty);
}

double clock_factor(const Plant& plant, int rank, int64_t t) {
  return clock_held(plant, rank, t) ? plant.gpus[rank].clock : 1;
}

Slices gpu_slices(const Plant& plant, int rank) {
  return {plant.gpus[rank].foreign_share, 2'400'000, seed_of(plant, "gpu slices", rank)};
}

Slices core_slices(const Plant& plant, int rank) {
  return {plant.processes[rank].stolen, plant.processes[rank].slice_ns, seed_of(plant, "core slices", rank)};
}

Slices interpreter_slices(const Plant& plant, int rank) {
  return {plant.processes[rank].gil, 5'000'000, seed_of(plant, "interpreter", rank)};
}

Slices link_outages(const Plant& plant, int host, int nic) {
  const NicState& state = plant.hosts[host].nics[nic];
  return {state.flap_per_s * state.flap_outage_s, static_cast<int64_t>(state.flap_outage_s * 1e9),
          seed_of(plant, "outages", host * 64 + nic)};
}

double host_bytes_per_s(const Plant& plant, int host, int64_t t) {
  const double full = plant.job.nic_bits_per_s / 8 * 0.9;
  double slowest = full;
  for (size_t nic = 0; nic < plant.hosts[host].nics.size(); ++nic) {
    const NicState& state = plant.hosts[host].nics[nic];
    double rate = full * state.rate;
    if (state.varying > 0) {
      const auto moment = static_cast<uint64_t>(t / 15'000'000);
      rate *= 1 - state.varying * unit(seed_of(plant, "congestion", host * 64 + static_cast<int>(nic)), moment);
    }
    rate = std::max(rate - state.foreign_bytes_per_s, full * 0.04);
    slowest = std::min(slowest, rate);
  }
  return slowest * static_cast<double>(plant.hosts[host].nics.size());
}

}  // namespace eroica
