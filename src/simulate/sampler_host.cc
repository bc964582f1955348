#include <fmt/format.h>

#include <algorithm>

#include <array>

#include "simulate/bins.h"
#include "simulate/physics.h"
#include "simulate/sampler.h"
#include "simulate/sampler_parts.h"

namespace eroica {
namespace {

bool saves_here(const Plant& plant, int host) {
  return std::ranges::any_of(plant.deeds, [&](const Deed& deed) {
    return deed.kind == DeedKind::kCheckpoint && (deed.rank < 0 || plant.job.host_of(deed.rank) == host);
  });
}

/// Bytes that leave and reach a host.
struct Traffic {
  Bins out, in;
  Traffic(const WindowSpan& w, int64_t period) : out(w.start_ns, w.end_ns, period), in(w.start_ns, w.end_ns, period) {}
};

Traffic traffic_of(const SamplerScene& scene, int host) {
  Traffic traffic(scene.window, scene.usual_ns);
  const JobSpec& job = scene.plant.job;
  for (const PlayedTransfer& transfer : scene.timeline.transfers) {
    if (!transfer.between_hosts || job.host_of(transfer.rank) != host) continue;
    const auto& ranks = scene.program.communicators[transfer.communicator].ranks;
    const auto here = std::ranges::count_if(ranks, [&](int rank) { return job.host_of(rank) == host; });
    const double bytes = transfer.bytes * 1e9 / static_cast<double>(here);
    if (transfer.sends) traffic.out.spread(transfer.start_ns, transfer.end_ns, bytes);
    if (transfer.receives) traffic.in.spread(transfer.start_ns, transfer.end_ns, bytes);
  }
  return traffic;
}

}  // namespace

void sample_nics(SampleDocument& document, const SamplerScene& scene, int host) {
  const Plant& plant = scene.plant;
  const Traffic traffic = traffic_of(scene, host);
  const auto nics = static_cast<double>(plant.job.nics_per_host);
  for (int nic = 0; nic < plant.job.nics_per_host; ++nic) {
    const NicState& state = plant.hosts[host].nics[nic];
    Random random(plant.job.seed, "nic samples", host * 64 + nic);
    const std::string entity = fmt::format("host {}/nic {}", plant.dialect.hosts[host], plant.dialect.nics[host][nic]);
    const auto usual = [&](std::string_view metric, std::string_view unit, auto value) {
      document.series(entity, metric, unit, scene.window, scene.usual_ns, value);
    };
    const auto slow = [&](std::string_view metric, std::string_view unit, auto value) {
      document.series(entity, metric, unit, scene.window, scene.slow_ns, value);
    };
    const auto bytes = [&](const Bins& bins) {
      return [&](size_t k, int64_t) {
        return sensed(random, bins.mean(std::min(k, bins.size() - 1)) / nics, 0.015) + flicker(random, 2e6) +
               (state.foreign_bytes_per_s > 0 ? flicker(random, state.foreign_bytes_per_s) : 0);
      };
    };
    const auto rate = [&](double per_s) {
      return [&, per_s](size_t, int64_t) { return per_s > 0 ? std::round(flicker(random, per_s)) : 0.0; };
    };
    usual("net.transmit", "bytes_per_s", bytes(traffic.out));
    usual("net.receive", "bytes_per_s", bytes(traffic.in));
    usual("net.queue", "bytes", [&](size_t k, int64_t) {
      const double load = traffic.out.mean(std::min(k, traffic.out.size() - 1)) /
                          std::max(1.0, host_bytes_per_s(plant, host, scene.window.start_ns));
      return std::round(flicker(random, 2e4 + (state.rate < 0.9 ? 3e6 : 2e5) * load));
    });
    slow("net.speed", "bits_per_s", [&](size_t, int64_t) { return plant.job.nic_bits_per_s * state.negotiated; });
    if (plant.job.bonded) slow("net.members_up", "count", [&](size_t, int64_t) { return state.members_up; });
    usual("net.drop", "per_s", rate(state.drop_per_s));
    usual("net.error", "per_s", rate(state.error_per_s));
    const Slices outages = link_outages(plant, host, nic);
    usual("net.link_down", "per_s", [&](size_t, int64_t t) {
      if (outages.share <= 0) return 0.0;
      const int64_t start = outages.at_or_after(std::max<int64_t>(0, t - scene.usual_ns)).first;
      return start >= t - scene.usual_ns && start < t ? 1e9 / static_cast<double>(scene.usual_ns) : 0.0;
    });
    usual("net.pause", "per_s", rate(state.pause_per_s));
    usual("net.cnp", "per_s", [&](size_t, int64_t) {
      return state.cnp_per_s > 10 ? flicker(random, state.cnp_per_s) : random.chance(0.08) ? state.cnp_per_s * 12 : 0.0;
    });
  }
}

void sample_host(SampleDocument& document, const SamplerScene& scene, int host) {
  const Plant& plant = scene.plant;
  const HostState& state = plant.hosts[host];
  Random random(plant.job.seed, "host samples", host);
  const std::string entity = fmt::format("host {}", plant.dialect.hosts[host]);
  const auto usual = [&](std::string_view metric, std::string_view unit, auto value) {
    document.series(entity, metric, unit, scene.window, scene.usual_ns, value);
  };
  const auto slow = [&](std::string_view metric, std::string_view unit, auto value) {
    document.series(entity, metric, unit, scene.window, scene.slow_ns, value);
  };
  const auto around = [&](double mean) { return [&, mean](size_t, int64_t) { return flicker(random, mean); }; };

  Bins run(scene.window.start_ns, scene.window.end_ns, scene.usual_ns);
  Bins saving = run;
  double steady = state.foreign_cores;
  for (int rank = 0; rank < plant.job.world(); ++rank) {
    if (plant.job.host_of(rank) != host) continue;
    steady += 0.34 + plant.processes[rank].extra_run;
    for (const HostInterval& part : scene.timeline.ranks[rank].host) {
      if (part.activity == HostActivity::kRun || part.activity == HostActivity::kSpin)
        run.add(part.start_ns, part.end_ns);
      if (part.activity == HostActivity::kStorage) saving.add(part.start_ns, part.end_ns);
    }
    for (const WorkerRun& worker : scene.timeline.ranks[rank].workers) {
      run.add(worker.start_ns, worker.end_ns, 1 - plant.processes[rank].load_io);
    }
  }
  const bool saves = saves_here(plant, host);
  const auto now = [](const Bins& bins, size_t k) { return bins.mean(std::min(k, bins.size() - 1)); };
  usual("cpu.busy", "fraction", [&](size_t k, int64_t) {
    return std::min(1.0, sensed(random, (now(run, k) + steady) / plant.job.cpus, 0.05));
  });
  usual("cpu.softirq", "fraction", around(state.softirq));
  usual("cpu.irq", "fraction", around(state.irq));
  usual("cpu.steal", "fraction", [](size_t, int64_t) { return 0.0; });
  usual("cpu.iowait", "fraction", around(state.iowait));
  usual("cpu.foreign", "cores", [&](size_t, int64_t) { return sensed(random, state.foreign_cores, 0.12); });
  slow("cpu.frequency", "hz",
       [&](size_t, int64_t) { return sensed(random, plant.job.cpu_hz * state.cpu_clock, 0.004); });
  usual("pressure.cpu", "fraction", around(state.pressure_cpu));
  usual("pressure.io", "fraction", [&](size_t k, int64_t) {
    return std::min(1.0, flicker(random, state.pressure_io) + (saves ? 0.8 * std::min(1.0, now(saving, k)) : 0));
  });
  usual("pressure.memory", "fraction", around(state.pressure_memory));
  slow("memory.swap_in", "per_s", [&](size_t, int64_t) {
    return state.swap_in_per_s > 0 ? std::round(flicker(random, state.swap_in_per_s)) : 0.0;
  });
  slow("memory.compact_stall", "per_s", [&](size_t, int64_t) {
    return state.compact_stall_per_s > 1              ? std::round(flicker(random, state.compact_stall_per_s))
           : random.chance(state.compact_stall_per_s) ? 1.0
                                                      : 0.0;
  });
  slow("fs.remote_rtt", "ms", around(state.remote_rtt_ms));
  slow("fs.remote_ops", "per_s", around(state.remote_ops_per_s));
  slow("net.tcp_retransmit", "per_s",
       [&](size_t, int64_t) { return std::round(flicker(random, state.retransmit_per_s)); });
  slow("net.tcp_rtt", "ms", around(state.tcp_rtt_ms));

  const std::string disk = fmt::format("host {}/disk {}", plant.dialect.hosts[host], plant.dialect.disk);
  const auto on_disk = [&](std::string_view metric, std::string_view unit, int64_t period, auto value) {
    document.series(disk, metric, unit, scene.window, period, value);
  };
  on_disk("disk.read", "bytes_per_s", scene.usual_ns, around(state.disk_read));
  on_disk("disk.write", "bytes_per_s", scene.usual_ns, [&](size_t k, int64_t) {
    return flicker(random, 1e6) + (saves ? sensed(random, now(saving, k) * 1.4e9, 0.05) : 0);
  });
  on_disk("disk.busy", "fraction", scene.usual_ns, [&](size_t k, int64_t) {
    return std::min(1.0, flicker(random, std::min(0.6, state.disk_busy)) + (state.disk_busy > 0.6 ? 0.37 : 0) +
                             (saves ? 0.9 * std::min(1.0, now(saving, k)) : 0));
  });
  on_disk("disk.await", "ms", scene.slow_ns, around(state.disk_await_ms));
}

std::string host_samples(const Plant& plant, const JobProgram& program, const Timeline& timeline, int host,
                         const WindowSpan& window, std::span<const std::string> dropped) {
  Random random(plant.job.seed, "periods");
  const int64_t length = window.end_ns - window.start_ns;
  const int64_t fast =
      length > 4'000'000'000 ? 10'000'000 : random.pick(std::array<int64_t, 3>{2'000'000, 5'000'000, 10'000'000});
  const SamplerScene scene{plant, program, timeline, window, fast, 20'000'000, 50'000'000};
  SampleDocument document(host_clock(plant, host), dropped);
  for (int rank = 0; rank < plant.job.world(); ++rank) {
    if (plant.job.host_of(rank) != host) continue;
    sample_gpu(document, scene, rank);
    sample_rank(document, scene, rank);
  }
  sample_nics(document, scene, host);
  sample_host(document, scene, host);
  return document.finish();
}

}  // namespace eroica
