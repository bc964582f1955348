#include <fmt/format.h>

#include <algorithm>

#include "simulate/bins.h"
#include "simulate/deeds.h"
#include "simulate/sampler_parts.h"

namespace eroica {
namespace {

struct HostUse {
  Bins run, wait, throttled, storage, pause, asleep;
  HostUse(const WindowSpan& w, int64_t period)
      : run(w.start_ns, w.end_ns, period),
        wait(w.start_ns, w.end_ns, period),
        throttled(w.start_ns, w.end_ns, period),
        storage(w.start_ns, w.end_ns, period),
        pause(w.start_ns, w.end_ns, period),
        asleep(w.start_ns, w.end_ns, period) {}
};

HostUse use_of(const SamplerScene& scene, int rank) {
  HostUse use(scene.window, scene.usual_ns);
  const int64_t stopped = scene.timeline.ranks[rank].stopped_ns;
  for (const HostInterval& part : scene.timeline.ranks[rank].host) {
    int64_t end = part.end_ns;
    if (stopped >= 0) end = std::min(end, stopped);
    switch (part.activity) {
      case HostActivity::kPause:
        use.pause.add(part.start_ns, end);
        [[fallthrough]];
      case HostActivity::kRun:
      case HostActivity::kSpin:
        use.run.add(part.start_ns, end);
        break;
      case HostActivity::kWaitCpu:
        use.wait.add(part.start_ns, end);
        break;
      case HostActivity::kThrottled:
        use.throttled.add(part.start_ns, end);
        break;
      case HostActivity::kStorage:
        use.storage.add(part.start_ns, end);
        break;
      case HostActivity::kSleep:
        use.asleep.add(part.start_ns, end);
        break;
    }
  }
  return use;
}

bool writes_snapshots(const Plant& plant, int rank) {
  return std::ranges::any_of(plant.deeds, [&](const Deed& deed) {
    return deed.kind == DeedKind::kCheckpoint && (deed.rank < 0 || deed.rank == rank);
  });
}

/// The window as far as the process lived.
WindowSpan lifetime(const SamplerScene& scene, int rank) {
  WindowSpan window = scene.window;
  const int64_t died = scene.timeline.ranks[rank].died_ns;
  if (died >= 0) window.end_ns = std::min(window.end_ns, died);
  return window;
}

void sample_workers(SampleDocument& document, const SamplerScene& scene, int rank, Random& random) {
  const Plant& plant = scene.plant;
  const PlantProcess& process = plant.processes[rank];
  const WindowSpan window = lifetime(scene, rank);
  for (int worker = 0; worker < plant.job.workers; ++worker) {
    Bins busy(scene.window.start_ns, scene.window.end_ns, scene.usual_ns);
    for (const WorkerRun& run : scene.timeline.ranks[rank].workers) {
      if (run.worker == worker) busy.add(run.start_ns, run.end_ns);
    }
    const std::string entity = fmt::format("rank {}/worker {}", rank, worker);
    const auto share = [&](double part) {
      return [&, part](size_t k, int64_t) {
        return std::min(1.0, sensed(random, busy.mean(std::min(k, busy.size() - 1)) * part, 0.02));
      };
    };
    document.series(entity, "cpu.run", "cores", window, scene.usual_ns, share(1 - process.load_io));
    document.series(entity, "io.blocked", "fraction", window, scene.usual_ns, share(process.load_io * 0.96));
    document.series(entity, "cpu.runnable_wait", "cores", window, scene.usual_ns,
                    [&](size_t, int64_t) { return flicker(random, 0.004 + 0.5 * process.stolen * 0.2); });
  }
}

void sample_threads(SampleDocument& document, const SamplerScene& scene, int rank, const HostUse& use, Random& random) {
  const Plant& plant = scene.plant;
  const WindowSpan window = lifetime(scene, rank);
  if (plant.job.hosts > 1) {
    Bins moving(scene.window.start_ns, scene.window.end_ns, scene.usual_ns);
    Bins waiting = moving;
    for (const PlayedTransfer& transfer : scene.timeline.transfers) {
      if (transfer.rank == rank && transfer.between_hosts) moving.add(transfer.start_ns, transfer.end_ns);
    }
    for (const auto& [t, ns] : scene.timeline.ranks[rank].proxy_waits) waiting.add(t, t + static_cast<int64_t>(ns));
    const std::string entity = fmt::format("rank {}/thread nccl-proxy", rank);
    document.series(entity, "cpu.run", "cores", window, scene.usual_ns, [&](size_t k, int64_t) {
      const size_t bin = std::min(k, moving.size() - 1);
      return std::clamp(sensed(random, 0.04 + 0.55 * (moving.mean(bin) - waiting.mean(bin)), 0.05), 0.0, 1.0);
    });
    document.series(entity, "cpu.runnable_wait", "cores", window, scene.usual_ns, [&](size_t k, int64_t) {
      return std::min(1.0,
                      sensed(random, waiting.mean(std::min(k, waiting.size() - 1)), 0.04) + flicker(random, 0.003));
    });
  }
  if (plant.processes[rank].gil > 0) {
    const std::string entity = fmt::format("rank {}/thread metrics-agg", rank);
    document.series(entity, "cpu.run", "cores", window, scene.usual_ns, [&](size_t k, int64_t) {
      const size_t bin = std::min(k, use.asleep.size() - 1);
      return std::min(1.0, sensed(random, use.asleep.mean(bin) * 0.97 + plant.processes[rank].gil * 0.3, 0.03));
    });
    document.series(entity, "cpu.runnable_wait", "cores", window, scene.usual_ns,
                    [&](size_t, int64_t) { return flicker(random, 0.006); });
  }
}

}  // namespace

void sample_rank(SampleDocument& document, const SamplerScene& scene, int rank) {
  const Plant& plant = scene.plant;
  const PlantProcess& process = plant.processes[rank];
  const HostUse use = use_of(scene, rank);
  const WindowSpan window = lifetime(scene, rank);
  const int64_t stopped = scene.timeline.ranks[rank].stopped_ns;
  Random random(plant.job.seed, "rank samples", rank);
  const std::string entity = fmt::format("rank {}", rank);
  const auto usual = [&](std::string_view metric, std::string_view unit, auto value) {
    document.series(entity, metric, unit, window, scene.usual_ns, value);
  };
  const auto slow = [&](std::string_view metric, std::string_view unit, auto value) {
    document.series(entity, metric, unit, window, scene.slow_ns, value);
  };
  const auto at = [](const Bins& bins, size_t k) { return bins.mean(std::min(k, bins.size() - 1)); };
  const auto alive = [&](int64_t t) { return stopped < 0 || t < stopped ? 1.0 : 0.0; };

  usual("cpu.main_thread_run", "fraction",
        [&](size_t k, int64_t) { return std::min(1.0, sensed(random, at(use.run, k), 0.006)); });
  usual("cpu.main_thread_runnable_wait", "fraction", [&](size_t k, int64_t t) {
    return std::min(1.0, sensed(random, at(use.wait, k), 0.02) + alive(t) * flicker(random, 0.003));
  });
  usual("cpu.run", "cores", [&](size_t k, int64_t t) {
    const double others = process.quota_cores > 0 ? 0.3 * at(use.run, k) : 0.34 + process.extra_run;
    const double held = process.gil > 0 ? at(use.asleep, k) * 0.97 : 0;
    return sensed(random, at(use.run, k) + held + alive(t) * others, 0.03);
  });
  usual("cpu.runnable_wait", "cores", [&](size_t k, int64_t t) {
    return sensed(random, at(use.wait, k), 0.03) * 1.15 +
           alive(t) * (flicker(random, 0.008) + flicker(random, process.extra_wait));
  });
  usual("cpu.throttled", "fraction", [&](size_t k, int64_t) { return at(use.throttled, k); });
  slow("cpu.allowed", "count",
       [&](size_t, int64_t) { return process.allowed_cpus > 0 ? process.allowed_cpus : plant.job.cpus / 2.0; });
  slow("cpu.remote_numa", "fraction",
       [&](size_t, int64_t) { return std::min(1.0, sensed(random, process.remote_numa, 0.1)); });
  slow("process.threads", "count",
       [&](size_t, int64_t) { return process.threads > 0 ? process.threads : 58 + rank % 5; });
  usual("io.blocked", "fraction", [&](size_t k, int64_t) {
    return std::min(1.0, sensed(random, at(use.storage, k) * 0.96, 0.02) + flicker(random, 0.0008));
  });
  usual("python.gc", "fraction",
        [&](size_t k, int64_t t) { return at(use.pause, k) + alive(t) * flicker(random, 0.00025); });
  const double resident = 1e9 * random.uniform(6, 12);
  slow("memory.rss", "bytes",
       [&](size_t k, int64_t) { return std::round(resident + 3e5 * static_cast<double>(k) + random.uniform(0, 4e5)); });
  slow("memory.major_faults", "per_s", [&](size_t, int64_t) { return flicker(random, process.major_faults_per_s); });
  slow("memory.refaults", "per_s",
       [&](size_t, int64_t) { return std::round(flicker(random, process.refaults_per_s)); });
  slow("memory.limit_hits", "per_s", [&](size_t, int64_t) {
    return process.limit_hits_per_s > 0 ? std::round(flicker(random, process.limit_hits_per_s)) : 0.0;
  });
  usual("disk.read", "bytes_per_s",
        [&](size_t, int64_t) { return process.disk_read > 0 ? flicker(random, process.disk_read) : 0.0; });
  const bool saves = writes_snapshots(plant, rank);
  usual("disk.write", "bytes_per_s", [&](size_t k, int64_t) {
    return flicker(random, 1e5) + (saves ? sensed(random, at(use.storage, k) * 1.4e9, 0.05) : 0);
  });
  slow("gpu.alloc_retries", "per_s", [&](size_t, int64_t) {
    return process.alloc_retries_per_s > 0 ? std::round(flicker(random, process.alloc_retries_per_s)) : 0.0;
  });
  sample_workers(document, scene, rank, random);
  sample_threads(document, scene, rank, use, random);
}

}  // namespace eroica
