#include <array>

#include "simulate/fault_tools.h"

namespace eroica {
namespace {

PlantProcess& process(const FaultScene& scene) { return scene.plant.processes[scene.rank]; }
HostState& host(const FaultScene& scene) { return scene.plant.hosts[scene.host]; }
double extra_share(const FaultScene& scene) { return scaled(scene, 0.12, 0.8); }

void contention(const FaultScene& scene, FaultOutcome& outcome) {
  PlantProcess& state = process(scene);
  state.stolen = limited(1 - 1 / host_slowdown(scene, extra_share(scene)), 0.2, 0.93);
  state.slice_ns = static_cast<int64_t>(scene.random.uniform(3e6, 14e6));
  HostState& machine = scene.plant.hosts[scene.plant.job.host_of(scene.rank)];
  machine.foreign_cores += scaled(scene, 3, 12);
  machine.pressure_cpu = 0.35;
  blame_rank(scene, outcome);
}

void quota(const FaultScene& scene, FaultOutcome& outcome) {
  // The main thread spins while it waits for the device; so the quota is used up even by a host with little to do.
  process(scene).quota_cores = limited(scaled(scene, 0.75, 0.28), 0.1, 1.1);
  blame_rank(scene, outcome);
}

void numa(const FaultScene& scene, FaultOutcome& outcome) {
  PlantProcess& state = process(scene);
  state.remote_numa = limited(scaled(scene, 0.85, 0.98), 0.6, 1);
  state.speed = limited(1 / host_slowdown(scene, extra_share(scene)), 0.15, 0.8);
  blame_rank(scene, outcome);
}

void irq(const FaultScene& scene, FaultOutcome& outcome) {
  for (PlantProcess* state : processes_of_host(scene)) {
    state->interrupts = limited(1 - 1 / host_slowdown(scene, extra_share(scene)), 0.2, 0.85);
  }
  host(scene).softirq = scaled(scene, 0.12, 0.4);
  host(scene).irq = scaled(scene, 0.01, 0.05);
  blame_host(scene, outcome);
}

void frequency(const FaultScene& scene, FaultOutcome& outcome) {
  host(scene).cpu_clock = limited(1 / host_slowdown(scene, extra_share(scene)), 0.2, 0.75);
  blame_host(scene, outcome);
}

void affinity(const FaultScene& scene, FaultOutcome& outcome) {
  PlantProcess& state = process(scene);
  state.allowed_cpus = scene.random.integer(1, 2);
  state.stolen = limited(1 - 1 / host_slowdown(scene, extra_share(scene)), 0.25, 0.93);
  state.slice_ns = 4'000'000;
  state.extra_wait = 1.5;
  state.load = 1.25;
  blame_rank(scene, outcome);
}

void thread_count(const FaultScene& scene, FaultOutcome& outcome) {
  PlantProcess& state = process(scene);
  const bool many = scene.random.chance(0.6);
  state.threads = many ? 300 + scene.plant.job.cpus * 2 : 31;
  state.env["OMP_NUM_THREADS"] = many ? std::to_string(scene.plant.job.cpus * 2) : "1";
  state.extra_run = many ? 6 : -0.2;
  state.extra_wait = many ? 3 : 0;
  // The job's host-side augmentation runs on every rank; here it takes longer.
  const Frame frame = project_frame(scene, "data/augment.py", "mix_batch");
  const double usual_ms = 0.04 * scene.facts.step_ns / 1e6;
  for (int rank = 0; rank < scene.plant.job.world(); ++rank) {
    scene.plant.deeds.push_back({.kind = DeedKind::kCpuOperator,
                                 .rank = rank,
                                 .ms = rank == scene.rank ? added_ms(scene, extra_share(scene)) + usual_ms : usual_ms,
                                 .count = 8,
                                 .frames = {frame}});
  }
  blame_rank(scene, outcome);
  outcome.accept.emplace_back("config.environment_differs");  // so it does
}

void garbage(const FaultScene& scene, FaultOutcome& outcome) {
  const int every = every_or(scene, 3);
  scene.plant.deeds.push_back({.kind = DeedKind::kGarbage,
                               .rank = scene.rank,
                               .moving = scene.wish.moving,
                               .every = every,
                               .ms = (scaled(scene, 0.15, 0.8) * every * scene.facts.step_ns + slack_ns(scene)) / 1e6});
  blame_rank(scene, outcome);
  if (scene.wish.moving) blame_all(outcome);
}

void gil(const FaultScene& scene, FaultOutcome& outcome) {
  process(scene).gil = limited(1 - 1 / host_slowdown(scene, extra_share(scene)), 0.25, 0.92);
  blame_rank(scene, outcome);
}

/// Batches come too slowly: this many times the usual time for one.
double load_factor(const FaultScene& scene) { return (1 + scaled(scene, 0.15, 1)) / scene.plant.job.load_share; }

void workers_starved(const FaultScene& scene, FaultOutcome& outcome) {
  process(scene).load = load_factor(scene);
  process(scene).load_io = 0.03;
  blame_rank(scene, outcome);
}

void remote_storage(const FaultScene& scene, FaultOutcome& outcome) {
  for (PlantProcess* state : processes_of_host(scene)) {
    state->load = load_factor(scene);
    state->load_io = 0.9;
  }
  host(scene).remote_rtt_ms = scaled(scene, 15, 120);
  host(scene).pressure_io = 0.5;
  blame_host(scene, outcome);
}

void metadata_storm(const FaultScene& scene, FaultOutcome& outcome) {
  for (PlantProcess& state : scene.plant.processes) {
    state.load = load_factor(scene) * scene.random.uniform(0.9, 1.1);
    state.load_io = 0.85;
  }
  for (HostState& machine : scene.plant.hosts) {
    machine.remote_ops_per_s = scaled(scene, 9000, 60000);
    machine.remote_rtt_ms = scaled(scene, 4, 12);
    machine.pressure_io = 0.4;
  }
  blame_all(outcome);
}

void local_disk(const FaultScene& scene, FaultOutcome& outcome) {
  for (PlantProcess* state : processes_of_host(scene)) {
    state->load = load_factor(scene);
    state->load_io = 0.88;
    state->disk_read = 2e7;
  }
  host(scene).disk_await_ms = scaled(scene, 25, 150);
  host(scene).disk_busy = 0.98;
  host(scene).disk_read = 8e7;
  host(scene).iowait = 0.08;
  host(scene).pressure_io = 0.5;
  blame_host(scene, outcome);
}

void checkpoint(const FaultScene& scene, FaultOutcome& outcome) {
  const int every = every_or(scene, 5);
  const bool everyone = scene.wish.target == "all";
  Deed deed{.kind = DeedKind::kCheckpoint, .rank = everyone ? -1 : scene.rank, .every = every};
  deed.ms = (scaled(scene, 0.2, 1.2) * every * scene.facts.step_ns + slack_ns(scene)) / 1e6;
  deed.frames = {scene.plant.dialect.checkpoint};
  scene.plant.deeds.push_back(deed);
  blame_rank(scene, outcome);
  if (everyone) blame_all(outcome);
  outcome.function_regex = function_of(scene.plant.dialect.checkpoint) + "|save|write_record";
}

void page_cache(const FaultScene& scene, FaultOutcome& outcome) {
  for (PlantProcess* state : processes_of_host(scene)) {
    state->load = load_factor(scene);
    state->load_io = 0.8;
    state->refaults_per_s = scaled(scene, 4000, 30000);
    state->major_faults_per_s = scaled(scene, 50, 400);
    state->limit_hits_per_s = 40;
    state->disk_read = 4e8;
  }
  host(scene).pressure_io = 0.45;
  host(scene).pressure_memory = 0.12;
  host(scene).disk_read = 1.6e9;
  host(scene).disk_busy = 0.5;
  blame_host(scene, outcome);
}

void memory_pressure(const FaultScene& scene, FaultOutcome& outcome) {
  for (PlantProcess* state : processes_of_host(scene)) {
    state->speed = limited(1 / host_slowdown(scene, extra_share(scene)), 0.15, 0.75);
    state->load = 1.3;
    state->major_faults_per_s = scaled(scene, 300, 3000);
  }
  host(scene).swap_in_per_s = scaled(scene, 2000, 30000);
  host(scene).pressure_memory = scaled(scene, 0.25, 0.55);
  host(scene).pressure_io = 0.2;
  blame_host(scene, outcome);
}

void compaction(const FaultScene& scene, FaultOutcome& outcome) {
  // About one launch in twelve waits for the kernel to make room.
  const double added_us = added_us_per_launch(scene, extra_share(scene));
  for (PlantProcess* state : processes_of_host(scene))
    state->stall_per_launch_us = added_us * state->stall_every * 0.85;
  host(scene).compact_stall_per_s = scaled(scene, 300, 4000);
  host(scene).pressure_memory = 0.08;
  blame_host(scene, outcome);
}

void environment(const FaultScene& scene, FaultOutcome& outcome) {
  const double share = extra_share(scene);
  for (PlantProcess* state : processes_of_host(scene)) {
    state->env["CUDA_LAUNCH_BLOCKING"] = "1";
    state->driver_calls = 1 + added_us_per_launch(scene, share) / scene.plant.job.launch_us;
  }
  blame_host(scene, outcome);
}

void version_skew(const FaultScene& scene, FaultOutcome& outcome) {
  HostState& machine = host(scene);
  machine.driver = scene.plant.dialect.amd ? "6.3.6" : "525.60.13";
  if (scene.random.chance(0.5)) machine.kernel = "4.18.0-305";
  for (PlantProcess* state : processes_of_host(scene)) {
    state->driver_calls = 1 + added_us_per_launch(scene, 0.05) / scene.plant.job.launch_us;
  }
  for (const int rank : ranks_of_host(scene.plant.job, scene.host)) {
    scene.plant.gpus[rank].hidden_speed = limited(scaled(scene, 0.93, 0.75), 0.5, 0.97);
  }
  blame_host(scene, outcome);
}

void driver_contention(const FaultScene& scene, FaultOutcome& outcome) {
  const double added_us = added_us_per_launch(scene, extra_share(scene));
  for (PlantProcess* state : processes_of_host(scene)) {
    state->driver_jitter = limited(added_us / 240, 0.03, 0.9);
    state->driver_calls = 1.5;
  }
  host(scene).foreign_cores += 1.2;
  blame_host(scene, outcome);
}

void residue(const FaultScene& scene, FaultOutcome& outcome) {
  const double added_us = added_us_per_launch(scene, extra_share(scene));
  for (PlantProcess& state : scene.plant.processes) state.call_overhead_us = added_us;
  scene.plant.residue = true;
  blame_all(outcome);
  outcome.wants_baseline = true;
}

constexpr JobNeeds kAny{};
constexpr JobNeeds kBusyHost{.busy_host = true};
constexpr JobNeeds kTwoHosts{.several_hosts = true};
constexpr JobNeeds kTwoBusyHosts{.several_hosts = true, .busy_host = true};

constexpr std::array kFaults{
    FaultKind{"cpu.contention", "other processes take time slices of a rank's core", kBusyHost, contention},
    FaultKind{"cpu.cgroup_throttle", "a rank's cgroup has a CPU quota that it uses up", kBusyHost, quota},
    FaultKind{"cpu.numa_misbinding", "a rank runs on the wrong NUMA node: slower memory, copies and launches",
              kBusyHost, numa},
    FaultKind{"cpu.irq_load", "interrupts of a host land on the training cores", kTwoBusyHosts, irq},
    FaultKind{"cpu.frequency_cap", "the CPUs of a host run at a low clock", kTwoBusyHosts, frequency},
    FaultKind{"cpu.affinity", "all threads of a rank share one or two cores", kBusyHost, affinity},
    FaultKind{"cpu.thread_count", "a rank's host operators run with far too many threads, or one", kAny, thread_count},
    FaultKind{"python.gc_pause", "the interpreter collects garbage every few steps (:every, :moving)", kAny, garbage},
    FaultKind{"python.gil_contention", "another Python thread holds the interpreter's lock", kBusyHost, gil},
    FaultKind{"data.workers_starved", "a rank's dataloader workers are busy computing and too slow", kAny,
              workers_starved},
    FaultKind{"data.slow_remote_storage", "a host's remote storage answers slowly", kTwoHosts, remote_storage},
    FaultKind{"data.metadata_storm", "every worker opens too many small files on remote storage", kTwoHosts,
              metadata_storm},
    FaultKind{"data.slow_local_disk", "a host's disk answers slowly", kTwoHosts, local_disk},
    FaultKind{"storage.checkpoint_stall", "a rank saves every few steps and all wait (:every, @all)", kAny, checkpoint},
    FaultKind{"memory.page_cache_thrash", "a host reads the same pages of the data set again and again", kTwoHosts,
              page_cache},
    FaultKind{"memory.pressure", "a host swaps", kTwoBusyHosts, memory_pressure},
    FaultKind{"memory.thp_compaction", "allocations of a host wait for memory compaction", kTwoBusyHosts, compaction},
    FaultKind{"config.environment_differs", "a host's ranks run with CUDA_LAUNCH_BLOCKING=1", kTwoBusyHosts,
              environment},
    FaultKind{"config.version_skew", "a host has an older driver, and its kernels and calls are slower", kTwoHosts,
              version_skew},
    FaultKind{"gpu.driver_contention", "a monitoring poller holds the driver's lock: calls slow, kernels as ever",
              kTwoBusyHosts, driver_contention},
    FaultKind{"profiler.residue", "a profiler that ended left its hooks in: every call is slower on all ranks",
              kBusyHost, residue},
};

}  // namespace

std::span<const FaultKind> host_faults() { return kFaults; }

}  // namespace eroica
