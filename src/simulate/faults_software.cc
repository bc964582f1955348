#include <array>

#include "simulate/fault_tools.h"

namespace eroica {
namespace {

double extra_share(const FaultScene& scene) { return scaled(scene, 0.12, 0.8); }

/// A deed that makes steps last longer by what the strength says, where and when the user wants it.
Deed deed_of(const FaultScene& scene, DeedKind kind, int usual_every = 1) {
  Deed deed{.kind = kind, .rank = scene.rank, .moving = scene.wish.moving};
  deed.every = every_or(scene, usual_every);
  deed.ms = (slack_ns(scene) + extra_share(scene) * deed.every * scene.facts.step_ns) / 1e6;
  return deed;
}

void blame_deed(const FaultScene& scene, const Deed& deed, FaultOutcome& outcome) {
  if (deed.moving || deed.rank < 0) {
    blame_all(outcome);
  } else {
    blame_rank(scene, outcome);
  }
}

void slow_function(const FaultScene& scene, FaultOutcome& outcome) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kNames{{{"data/masking.py", "build_mask"},
                                                                   {"text/packing.py", "pack_documents"},
                                                                   {"aug/jitter.py", "color_jitter"},
                                                                   {"metrics/perplexity.py", "update_window"},
                                                                   {"hooks/checks.py", "verify_batch"}}};
  Deed deed = deed_of(scene, DeedKind::kSlowFunction);
  const auto& [file, function] = scene.random.pick(kNames);
  deed.frames = {project_frame(scene, "core/hooks.py", "run_hooks"), project_frame(scene, file, function)};
  if (scene.wish.target == "all") deed.rank = -1;
  // Every rank calls the function; here it has more to do.
  const double usual_ms = 0.01 * scene.facts.step_ns / 1e6;
  if (deed.rank >= 0 && !deed.moving) {
    deed.ms += usual_ms;
    for (int rank = 0; rank < scene.plant.job.world(); ++rank) {
      if (rank == deed.rank) continue;
      Deed usual = deed;
      usual.rank = rank;
      usual.ms = usual_ms;
      usual.every = 1;
      scene.plant.deeds.push_back(usual);
    }
  }
  scene.plant.deeds.push_back(deed);
  blame_deed(scene, deed, outcome);
  outcome.function_regex = std::string(function);
}

void device_sync(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed{.kind = DeedKind::kDeviceSync, .rank = -1};
  deed.frames = {project_frame(scene, "debug/stats.py", "activation_norm")};
  deed.count = static_cast<int>(limited(scaled(scene, 4, 24), 2, scene.plant.job.stage_layers[0]));
  deed.ms = scaled(scene, 0.02, 0.2) * scene.facts.step_ns / 1e6;
  scene.plant.deeds.push_back(deed);
  blame_all(outcome);
  outcome.function_regex = "activation_norm|item|StreamSynchronize";
}

void logging_io(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed = deed_of(scene, DeedKind::kLogging);
  if (scene.wish.target.empty()) deed.rank = 0;
  deed.count = 6;
  deed.frames = {scene.plant.dialect.log};
  scene.plant.deeds.push_back(deed);
  outcome.ranks = {deed.rank};
  outcome.hosts = {scene.plant.job.host_of(deed.rank)};
  outcome.function_regex = function_of(scene.plant.dialect.log) + "|emit|write|info";
}

void launch_bound(const FaultScene& scene, FaultOutcome& outcome) {
  scene.plant.job.slices = static_cast<int>(limited(std::round(host_slowdown(scene, extra_share(scene)) * 2.2), 4, 24));
  scene.plant.job.op_us *= scaled(scene, 1, 1.5);
  blame_all(outcome);
}

void recompile(const FaultScene& scene, FaultOutcome& outcome) {
  const Deed deed = deed_of(scene, DeedKind::kRecompile, 3);
  scene.plant.deeds.push_back(deed);
  scene.plant.processes[scene.rank].extra_run = 1.5;  // the compiler's children
  blame_deed(scene, deed, outcome);
  outcome.function_regex = "_dynamo|_inductor|compile|wait";
}

void kernel_variance(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed{.kind = DeedKind::kKernelVariant, .rank = scene.rank};
  deed.factor = scaled(scene, 1.3, 3);
  scene.plant.deeds.push_back(deed);
  blame_rank(scene, outcome);
}

void math_mode(const FaultScene& scene, FaultOutcome& outcome) {
  scene.plant.job.bf16_matrix = 0;
  blame_all(outcome);
}

void allocator(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed = deed_of(scene, DeedKind::kAllocatorRetry);
  deed.count = scene.random.integer(3, 7);
  if (scene.wish.target == "all") deed.rank = -1;
  scene.plant.deeds.push_back(deed);
  for (int rank = 0; rank < scene.plant.job.world(); ++rank) {
    if (deed.rank < 0 || deed.rank == rank)
      scene.plant.processes[rank].alloc_retries_per_s = deed.count / (scene.facts.step_ns / 1e9);
  }
  blame_deed(scene, deed, outcome);
}

void pinned_churn(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed = deed_of(scene, DeedKind::kPinnedChurn);
  deed.count = scene.random.integer(4, 10);
  if (scene.wish.target == "all") deed.rank = -1;
  scene.plant.deeds.push_back(deed);
  blame_deed(scene, deed, outcome);
}

void sequence_imbalance(const FaultScene& scene, FaultOutcome& outcome) {
  const double spread = scaled(scene, 0.25, 0.7);
  for (WorkState& work : scene.plant.work) work.sequence_spread = spread;
  blame_all(outcome);
  outcome.hosts_judged = false;
}

void pipeline_imbalance(const FaultScene& scene, FaultOutcome& outcome) {
  JobSpec& job = scene.plant.job;
  const int last = job.layout.pp - 1;
  const int more = std::max(1, static_cast<int>(std::round(job.stage_layers[last] * scaled(scene, 0.3, 1.3))));
  job.stage_layers[last] += more;
  for (int rank = 0; rank < job.world(); ++rank) {
    if (job.layout.stage(rank) == last) outcome.ranks.push_back(rank);
  }
  outcome.hosts_judged = false;
  outcome.scope = "ranks";
}

void expert_imbalance(const FaultScene& scene, FaultOutcome& outcome) {
  for (WorkState& work : scene.plant.work) {
    work.hot_rank = scene.rank;
    work.hot_factor = scaled(scene, 1.5, 3.5);
    work.expert_skew = 0.12;
  }
  // Where tensor shards share a replica, they share its experts.
  blame_rank(scene, outcome);
  outcome.hosts_judged = false;
}

void batch_imbalance(const FaultScene& scene, FaultOutcome& outcome) {
  const Layout& layout = scene.plant.job.layout;
  for (int rank = 0; rank < scene.plant.job.world(); ++rank) {
    if (layout.replica(rank) != layout.replica(scene.rank)) continue;
    scene.plant.work[rank].batch = scaled(scene, 1.25, 2.2);
    outcome.ranks.push_back(rank);
  }
  const double factor = scene.plant.work[outcome.ranks.front()].batch;
  for (const int rank : outcome.ranks) scene.plant.work[rank].batch = factor;
  outcome.hosts_judged = false;
}

void step_repeated(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed{.kind = DeedKind::kRepeatStep, .rank = -1};
  deed.every = every_or(scene, scene.strength > 0.7 ? 2 : 3);
  scene.plant.deeds.push_back(deed);
  blame_all(outcome);
}

constexpr JobNeeds kAny{};
constexpr JobNeeds kBusyHost{.busy_host = true};
constexpr JobNeeds kReplicas{.replicas = true};

constexpr std::array kFaults{
    FaultKind{"code.slow_function", "a Python function has more to do on a rank (:moving, :every, @all)", kAny,
              slow_function},
    FaultKind{"code.device_sync", "every layer reads a number back from the device, on all ranks", kAny, device_sync},
    FaultKind{"code.logging_io", "rank 0 writes its log to something slow", kAny, logging_io},
    FaultKind{"code.launch_bound", "many tiny kernels: the host cannot launch them fast enough, on all ranks",
              kBusyHost, launch_bound},
    FaultKind{"code.recompile", "torch.compile compiles again every few steps (:moving, :every)", kAny, recompile},
    FaultKind{"code.kernel_variance",
              "a rank's autotuner chose slower kernels for matrix products",
              {.transformer = true},
              kernel_variance},
    FaultKind{"config.math_mode",
              "matrix products in FP32 without tensor cores, on all ranks",
              {.transformer = true},
              math_mode},
    FaultKind{"gpu.allocator_retries", "the caching allocator frees and allocates again (cudaFree, cudaMalloc)", kAny,
              allocator},
    FaultKind{"gpu.pinned_memory_churn", "pinned memory is allocated anew each step", kAny, pinned_churn},
    FaultKind{"work.sequence_imbalance",
              "sequences of very different lengths, moving from replica to replica",
              {.transformer = true, .replicas = true},
              sequence_imbalance},
    FaultKind{
        "work.pipeline_imbalance", "the last pipeline stage has more layers", {.pipeline = true}, pipeline_imbalance},
    FaultKind{"work.expert_imbalance", "a rank's experts get far more tokens", {.experts = true}, expert_imbalance},
    FaultKind{"work.batch_imbalance", "a replica is given more input, steadily", kReplicas, batch_imbalance},
    FaultKind{"work.step_repeated", "steps are repeated after numerical trouble (:every)", kAny, step_repeated},
};

}  // namespace

std::span<const FaultKind> software_faults() { return kFaults; }

}  // namespace eroica
