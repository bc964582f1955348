#include <array>

#include "simulate/fault_tools.h"

namespace eroica {
namespace {

GpuState& gpu(const FaultScene& scene) { return scene.plant.gpus[scene.rank]; }
const GpuModel& model(const FaultScene& scene) { return scene.plant.job.gpu_of(scene.rank); }

void thermal(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  state.clock = limited(scaled(scene, 0.82, 0.48), 0.3, 0.95);
  state.duty = limited(scaled(scene, 0.5, 0.95), 0.3, 1);
  state.duty_period_ns =
      static_cast<int64_t>(std::max(3.3 * scene.facts.step_ns, 120e6) * scene.random.uniform(0.9, 1.3));
  state.reason = ClockReason::kThermal;
  state.celsius = model(scene).limit_celsius - scene.random.uniform(0, 3);
  blame_rank(scene, outcome);
}

void power_cap(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  state.clock = limited(scaled(scene, 0.85, 0.5), 0.3, 0.95);
  state.reason = ClockReason::kPower;
  state.power_limit = std::max(0.35, state.clock * state.clock * 0.85);
  blame_rank(scene, outcome);
}

void power_brake(const FaultScene& scene, FaultOutcome& outcome) {
  for (const int rank : ranks_of_host(scene.plant.job, scene.host)) {
    GpuState& state = scene.plant.gpus[rank];
    state.clock = limited(scaled(scene, 0.5, 0.35), 0.25, 0.5);
    state.duty = limited(scaled(scene, 0.4, 1.1), 0.3, 1);
    state.duty_period_ns = static_cast<int64_t>(std::max(4 * scene.facts.step_ns, 200e6));
    state.reason = ClockReason::kBrake;
  }
  blame_host(scene, outcome);
}

void clock_locked(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  state.clock = limited(scaled(scene, 0.86, 0.5), 0.3, 0.95);
  state.reason = ClockReason::kLocked;
  blame_rank(scene, outcome);
}

void sync_boost(const FaultScene& scene, FaultOutcome& outcome) {
  const int host = scene.plant.job.host_of(scene.rank);
  const double clock = limited(scaled(scene, 0.85, 0.55), 0.3, 0.95);
  for (const int rank : ranks_of_host(scene.plant.job, host)) {
    GpuState& state = scene.plant.gpus[rank];
    state.clock = clock;
    state.duty = 0.93;
    state.duty_period_ns = static_cast<int64_t>(std::max(5 * scene.facts.step_ns, 250e6));
    state.reason = rank == scene.rank ? ClockReason::kThermal : ClockReason::kSyncBoost;
    if (rank == scene.rank) state.celsius = model(scene).limit_celsius - 1;
    if (rank != scene.rank) outcome.ranks.push_back(rank);
  }
  outcome.ranks_judged = false;  // the dragged ones, with or without the one that drags
  outcome.hosts = {host};
  outcome.scope = "host";
  outcome.accept.emplace_back("gpu.thermal_throttle");
}

void slow_unexplained(const FaultScene& scene, FaultOutcome& outcome) {
  gpu(scene).hidden_speed = limited(scaled(scene, 0.88, 0.55), 0.3, 0.97);
  blame_rank(scene, outcome);
}

void ecc_remap(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  state.memory = limited(scaled(scene, 0.75, 0.25), 0.15, 0.95);
  state.ecc_per_s = scaled(scene, 40, 400);
  state.xid_per_s = 1.5;
  state.remapped_rows = scene.random.integer(2, 9);
  blame_rank(scene, outcome);
}

void hbm_degraded(const FaultScene& scene, FaultOutcome& outcome) {
  gpu(scene).memory = limited(scaled(scene, 0.7, 0.2), 0.12, 0.95);
  blame_rank(scene, outcome);
}

void shared(const FaultScene& scene, FaultOutcome& outcome) {
  gpu(scene).foreign_share = limited(scaled(scene, 0.15, 0.55), 0.05, 0.8);
  scene.plant.hosts[scene.plant.job.host_of(scene.rank)].foreign_gpu_processes = 1;
  blame_rank(scene, outcome);
}

void pcie_downgrade(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  const bool narrow = scene.random.chance(0.5);
  const int generation = model(scene).pcie_generation;
  if (narrow) {
    state.pcie_width = scene.strength > 0.75 ? 1 : scene.strength > 0.4 ? 2 : 4;
    state.pcie = state.pcie_width / 16.0;
  } else {
    state.pcie_generation = scene.strength > 0.6 ? 1 : std::max(1, generation - 2);
    state.pcie_width = scene.strength > 0.3 ? 8 : 16;
    state.pcie = state.pcie_width / 16.0 / (1 << (generation - state.pcie_generation));
  }
  if (state.pcie < 0.125) {
    state.pcie_width = 2;
    state.pcie_generation = 0;
    state.pcie = 0.125;
  }
  blame_rank(scene, outcome);
}

void pcie_replays(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  state.pcie = limited(scaled(scene, 0.5, 0.15), 0.08, 0.9);
  state.pcie_jitter = 0.6;
  state.pcie_replay_per_s = scaled(scene, 300, 6000);
  blame_rank(scene, outcome);
}

void nvlink_down(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  const int links = model(scene).nvlinks;
  state.nvlinks_down = static_cast<int>(limited(std::round(links * scaled(scene, 0.2, 0.85)), 1, links - 1));
  state.nvlink = static_cast<double>(links - state.nvlinks_down) / links;
  blame_rank(scene, outcome);
}

void nvlink_errors(const FaultScene& scene, FaultOutcome& outcome) {
  GpuState& state = gpu(scene);
  state.nvlink = limited(scaled(scene, 0.7, 0.12), 0.08, 0.9);
  state.nvlink_error_per_s = scaled(scene, 500, 20000);
  blame_rank(scene, outcome);
}

void fabric_fault(const FaultScene& scene, FaultOutcome& outcome) {
  for (const int rank : ranks_of_host(scene.plant.job, scene.host)) {
    scene.plant.gpus[rank].nvlink = limited(scaled(scene, 0.6, 0.1), 0.06, 0.9);
  }
  blame_host(scene, outcome);
}

void overlap_contention(const FaultScene& scene, FaultOutcome& outcome) {
  for (PlantProcess& process : scene.plant.processes) process.overlap_cost = scaled(scene, 0.6, 1.8);
  scene.plant.network.channels = 64;
  blame_all(outcome);
}

constexpr JobNeeds kAny{};
constexpr JobNeeds kLinks{.tensor_parallel = true};
constexpr JobNeeds kInput{.fat_input = true};

constexpr std::array kFaults{
    FaultKind{"gpu.thermal_throttle", "a GPU's clock falls for part of the time, near its limit temperature", kAny,
              thermal},
    FaultKind{"gpu.power_cap", "a GPU has a lower power limit and runs at it, below its clock", kAny, power_cap},
    FaultKind{"gpu.power_brake", "the power supply of a host brakes all its GPUs to half their clock or less", kAny,
              power_brake},
    FaultKind{"gpu.clock_locked", "an operator left a GPU locked at a low clock", kAny, clock_locked},
    FaultKind{"gpu.sync_boost_drag", "a hot GPU drags the clocks of its sync-boost group down", kAny, sync_boost},
    FaultKind{"gpu.slow_unexplained", "a GPU computes slower than its clock says, at low power", kAny,
              slow_unexplained},
    FaultKind{"gpu.ecc_remap", "memory errors and remapped rows slow memory-bound kernels", kAny, ecc_remap},
    FaultKind{"gpu.hbm_degraded", "a GPU's memory is slower at its usual clock", kAny, hbm_degraded},
    FaultKind{"gpu.shared", "another process takes time slices of a GPU", kAny, shared},
    FaultKind{"pcie.link_downgrade", "a GPU's PCIe link negotiated a lower generation or width", kInput,
              pcie_downgrade},
    FaultKind{"pcie.replays", "a GPU's PCIe link repeats packets", kInput, pcie_replays},
    FaultKind{"nvlink.down", "some NVLinks of a GPU are down", kLinks, nvlink_down},
    FaultKind{"nvlink.lane_errors", "NVLinks of a GPU are up but recover from errors all the time", kLinks,
              nvlink_errors},
    FaultKind{"nvlink.fabric_fault", "a host's NVLink switch is slow for all its GPUs, links clean", kLinks,
              fabric_fault},
    FaultKind{"gpu.comm_compute_contention",
              "collectives take so many multiprocessors that kernels beside them crawl",
              {.several_hosts = true, .transformer = true, .replicas = true, .overlap = true},
              overlap_contention},
};

}  // namespace

std::span<const FaultKind> gpu_faults() { return kFaults; }

}  // namespace eroica
