#include <fmt/format.h>

#include <algorithm>

#include "simulate/bins.h"
#include "simulate/physics.h"
#include "simulate/sampler_parts.h"

namespace eroica {
namespace {

/// Use of a GPU by interval.
struct GpuUse {
  Bins sm, tensor, dram, pcie_in, pcie_out, nvlink_in, nvlink_out;
  GpuUse(const WindowSpan& w, int64_t period)
      : sm(w.start_ns, w.end_ns, period),
        tensor(w.start_ns, w.end_ns, period),
        dram(w.start_ns, w.end_ns, period),
        pcie_in(w.start_ns, w.end_ns, period),
        pcie_out(w.start_ns, w.end_ns, period),
        nvlink_in(w.start_ns, w.end_ns, period),
        nvlink_out(w.start_ns, w.end_ns, period) {}
};

void add_kernels(GpuUse& use, const SamplerScene& scene, int rank) {
  const RankProgram& program = scene.program.ranks[rank];
  const GpuModel& model = scene.plant.job.gpu_of(rank);
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const Kernel& kernel = program.kernels[i];
    const KernelRun& run = scene.timeline.ranks[rank].kernels[i];
    if (run.start_ns < 0) continue;
    const int64_t end = run.end_ns < 0 ? scene.window.end_ns : run.end_ns;
    const auto took = static_cast<double>(std::max<int64_t>(1, end - run.start_ns));
    switch (kernel.kind) {
      case KernelKind::kCompute: {
        const double clock = clock_factor(scene.plant, rank, run.start_ns);
        use.sm.add(run.start_ns, end, kernel.sm);
        use.tensor.spread(run.start_ns, end, kernel.tensor * static_cast<double>(kernel.ns) / clock);
        use.dram.spread(run.start_ns, end, kernel.dram * static_cast<double>(kernel.ns));
        break;
      }
      case KernelKind::kCollective:
        use.sm.add(run.start_ns, end, std::min(1.0, static_cast<double>(kernel.grid) / model.multiprocessors));
        if (run.transfer_ns >= 0) use.dram.add(run.transfer_ns, end, 0.05);
        break;
      case KernelKind::kCopyIn:
        use.pcie_in.spread(run.start_ns, end, static_cast<double>(kernel.bytes) * 1e9);
        use.dram.add(run.start_ns, end, static_cast<double>(kernel.bytes) / took * 1e9 / model.memory_bytes_per_s);
        break;
      case KernelKind::kCopyOut:
        use.pcie_out.spread(run.start_ns, end, static_cast<double>(kernel.bytes) * 1e9);
        break;
    }
  }
}

void add_transfers(GpuUse& use, const SamplerScene& scene, int rank) {
  const JobSpec& job = scene.plant.job;
  const int host = job.host_of(rank);
  double detour = 1;
  for (const NicState& nic : scene.plant.hosts[host].nics) detour = nic.through_host ? 2.4 : detour;
  for (const PlayedTransfer& transfer : scene.timeline.transfers) {
    if (transfer.rank != rank) continue;
    const auto& ranks = scene.program.communicators[transfer.communicator].ranks;
    const double in = transfer.receives ? transfer.bytes * 1e9 : 0;
    const double out = transfer.sends ? transfer.bytes * 1e9 : 0;
    if (!transfer.between_hosts) {
      use.nvlink_in.spread(transfer.start_ns, transfer.end_ns, in);
      use.nvlink_out.spread(transfer.start_ns, transfer.end_ns, out);
      continue;
    }
    const auto here = std::ranges::count_if(ranks, [&](int other) { return job.host_of(other) == host; });
    const double share = 1 / static_cast<double>(here);
    use.pcie_in.spread(transfer.start_ns, transfer.end_ns, in * share * detour);
    use.pcie_out.spread(transfer.start_ns, transfer.end_ns, out * share * detour);
    if (here < 2) continue;
    use.nvlink_in.spread(transfer.start_ns, transfer.end_ns, in);
    use.nvlink_out.spread(transfer.start_ns, transfer.end_ns, out);
  }
}

/// Share of the interval before `t` with the clock held down.
double held_share(const Plant& plant, int rank, int64_t t, int64_t period_ns) {
  constexpr int kPoints = 10;
  int held = 0;
  for (int i = 0; i < kPoints; ++i)
    held += clock_held(plant, rank, std::max<int64_t>(0, t - period_ns + period_ns * i / kPoints));
  return static_cast<double>(held) / kPoints;
}

double watts(const Plant& plant, const GpuModel& model, const GpuState& gpu, int rank, double sm, double tensor,
             double dram, int64_t t) {
  const double clock = clock_factor(plant, rank, t) * (gpu.hidden_speed < 1 ? 0.6 + 0.4 * gpu.hidden_speed : 1);
  const double busy = 0.24 * sm + 0.42 * std::min(1.0, tensor / 0.62) + 0.26 * dram;
  double power =
      model.idle_watts + (model.limit_watts - model.idle_watts) * std::min(0.97, busy * 1.08) * clock * clock;
  const double cap = model.limit_watts * gpu.power_limit;
  if (gpu.reason == ClockReason::kPower && sm > 0.5) power = std::max(power, cap * 0.965);
  return std::min(power, cap);
}

}  // namespace

void sample_gpu(SampleDocument& document, const SamplerScene& scene, int rank) {
  const Plant& plant = scene.plant;
  const GpuState& gpu = plant.gpus[rank];
  const GpuModel& model = plant.job.gpu_of(rank);
  const std::string entity =
      fmt::format("host {}/gpu {}", plant.dialect.hosts[plant.job.host_of(rank)], plant.job.gpu_index(rank));
  GpuUse use(scene.window, scene.fast_ns);
  add_kernels(use, scene, rank);
  add_transfers(use, scene, rank);
  Random random(plant.job.seed, "gpu samples", rank);
  const Slices foreign = gpu_slices(plant, rank);
  if (foreign.share > 0) {
    for (int64_t t = scene.window.start_ns; t < scene.window.end_ns;) {
      const auto [start, end] = foreign.at_or_after(t);
      use.sm.add(start, end, 0.7);
      use.dram.add(start, end, 0.25);
      t = end;
    }
  }

  const auto fast = [&](std::string_view metric, std::string_view unit, auto value) {
    document.series(entity, metric, unit, scene.window, scene.fast_ns, value);
  };
  const auto slow = [&](std::string_view metric, std::string_view unit, auto value) {
    document.series(entity, metric, unit, scene.window, scene.slow_ns, value);
  };
  const auto constant = [](double value) { return [value](size_t, int64_t) { return value; }; };
  const auto use_of = [&](const Bins& bins) {
    return [&bins, &random](size_t k, int64_t) {
      return std::clamp(sensed(random, bins.mean(std::min(k, bins.size() - 1)), 0.012), 0.0, 1.0);
    };
  };
  const auto rate_of = [&](const Bins& bins, double idle) {
    return [&bins, &random, idle](size_t k, int64_t) {
      return sensed(random, bins.mean(std::min(k, bins.size() - 1)), 0.015) + flicker(random, idle);
    };
  };
  fast("gpu.sm_clock", "hz", [&](size_t, int64_t t) {
    const double jitter = gpu.reason == ClockReason::kLocked || random.chance(0.8) ? 0 : 15e6;
    return std::round(model.sm_clock_hz * clock_factor(plant, rank, t) / 15e6) * 15e6 - jitter;
  });
  slow("gpu.mem_clock", "hz", constant(model.memory_clock_hz));
  fast("gpu.sm_active", "fraction", use_of(use.sm));
  fast("gpu.tensor_active", "fraction", use_of(use.tensor));
  fast("gpu.dram_active", "fraction", use_of(use.dram));
  double heat = 0;
  double power = model.idle_watts;
  fast("gpu.power", "watts", [&](size_t k, int64_t t) {
    const size_t bin = std::min(k, use.sm.size() - 1);
    const double now =
        watts(plant, model, gpu, rank, std::min(1.0, use.sm.mean(bin)), use.tensor.mean(bin), use.dram.mean(bin), t);
    power = k == 0 ? now : 0.45 * power + 0.55 * now;  // the sensor averages
    heat += power;
    return sensed(random, power, 0.008);
  });
  heat /= static_cast<double>(use.sm.size()) * model.limit_watts;
  const double warm = gpu.celsius >= 0 ? gpu.celsius : 33 + 26 * heat + random.uniform(-2, 2);
  slow("gpu.power_limit", "watts", constant(std::round(model.limit_watts * gpu.power_limit)));
  slow("gpu.temperature", "celsius", [&](size_t, int64_t) { return std::round(warm + random.uniform(-0.8, 0.8)); });
  const auto reason = [&](std::string_view metric, ClockReason wanted) {
    slow(metric, "fraction", [&, wanted](size_t, int64_t t) {
      if (gpu.reason != wanted) return 0.0;
      const double share = held_share(plant, rank, t, scene.slow_ns);
      return wanted == ClockReason::kPower ? share * random.uniform(0.86, 1) : share;
    });
  };
  reason("gpu.throttle_thermal", ClockReason::kThermal);
  reason("gpu.throttle_power", ClockReason::kPower);
  reason("gpu.throttle_brake", ClockReason::kBrake);
  reason("gpu.throttle_sync_boost", ClockReason::kSyncBoost);
  reason("gpu.clock_locked", ClockReason::kLocked);
  fast("gpu.pcie_receive", "bytes_per_s", rate_of(use.pcie_in, 1.6e6));
  fast("gpu.pcie_transmit", "bytes_per_s", rate_of(use.pcie_out, 0.8e6));
  slow("gpu.pcie_generation", "count", constant(gpu.pcie_generation > 0 ? gpu.pcie_generation : model.pcie_generation));
  slow("gpu.pcie_width", "count", constant(gpu.pcie_width));
  slow("gpu.pcie_replay", "per_s", [&](size_t, int64_t) {
    return gpu.pcie_replay_per_s > 0 ? std::round(flicker(random, gpu.pcie_replay_per_s)) : 0.0;
  });
  fast("gpu.nvlink_receive", "bytes_per_s", rate_of(use.nvlink_in, 0));
  fast("gpu.nvlink_transmit", "bytes_per_s", rate_of(use.nvlink_out, 0));
  slow("gpu.nvlink_up", "count", constant(model.nvlinks - gpu.nvlinks_down));
  slow("gpu.nvlink_error", "per_s", [&](size_t, int64_t) {
    return gpu.nvlink_error_per_s > 0 ? std::round(flicker(random, gpu.nvlink_error_per_s)) : 0.0;
  });
  slow("gpu.ecc", "per_s",
       [&](size_t, int64_t) { return gpu.ecc_per_s > 0 ? std::round(flicker(random, gpu.ecc_per_s)) : 0.0; });
  slow("gpu.xid", "per_s", [&](size_t, int64_t) {
    return random.chance(gpu.xid_per_s * 1e-9 * static_cast<double>(scene.slow_ns))
               ? 1e9 / static_cast<double>(scene.slow_ns)
               : 0.0;
  });
  slow("gpu.remapped_rows", "count", constant(gpu.remapped_rows));
  slow("gpu.foreign_processes", "count", constant(gpu.foreign_share > 0 ? 1 : 0));
}

}  // namespace eroica
