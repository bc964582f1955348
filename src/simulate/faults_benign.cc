#include <array>

#include "simulate/fault_tools.h"

namespace eroica {
namespace {

void benign(FaultOutcome& outcome) {
  blame_all(outcome);
  outcome.benign = true;
}

void healthy(const FaultScene&, FaultOutcome& outcome) { benign(outcome); }

void clock_drift(const FaultScene& scene, FaultOutcome& outcome) {
  scene.plant.clock_ppm_extra = scaled(scene, 60, 190);
  benign(outcome);
}

void mild_sequences(const FaultScene& scene, FaultOutcome& outcome) {
  const double spread = scaled(scene, 0.02, 0.06);
  for (WorkState& work : scene.plant.work) work.sequence_spread = spread;
  benign(outcome);
}

void mild_experts(const FaultScene& scene, FaultOutcome& outcome) {
  for (WorkState& work : scene.plant.work) work.expert_skew = scaled(scene, 0.08, 0.15);
  benign(outcome);
}

void longer_last_stage(const FaultScene& scene, FaultOutcome& outcome) {
  scene.plant.job.stage_layers.back() += 1;
  benign(outcome);
  outcome.accept = {"work.pipeline_imbalance"};
}

void two_models(const FaultScene& scene, FaultOutcome& outcome) {
  JobSpec& job = scene.plant.job;
  const bool amd = job.gpu->vendor == DeviceVendor::kAmd;
  if (amd) {
    benign(outcome);  // nothing newer that speaks the same library
    return;
  }
  job.other_gpu = find_gpu_model(job.gpu->key == "h100"   ? "b200"
                                 : job.gpu->key == "a100" ? "h100"
                                 : job.gpu->key == "v100" ? "a100"
                                                          : "h100");
  benign(outcome);
}

void trace_missing(const FaultScene& scene, FaultOutcome& outcome) {
  scene.plant.traces_missing.push_back(scene.rank);
  benign(outcome);
}

void samples_missing(const FaultScene& scene, FaultOutcome& outcome) {
  scene.plant.samples_missing.push_back(scene.host);
  benign(outcome);
}

void evaluation(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed{.kind = DeedKind::kEvaluation, .rank = -1};
  deed.only_step = scene.plant.job.steps / 2;
  scene.plant.deeds.push_back(deed);
  benign(outcome);
}

void ring_attention(const FaultScene& scene, FaultOutcome& outcome) {
  scene.plant.job.ring_attention = true;
  benign(outcome);
}

/// What tells hosts and ranks from each other, and settings of one host that cost nothing.
void labels(const FaultScene& scene, FaultOutcome& outcome) {
  Plant& plant = scene.plant;
  for (int rank = 0; rank < plant.job.world(); ++rank) {
    auto& env = plant.processes[rank].env;
    env["NCCL_HOSTID"] = plant.dialect.hosts[plant.job.host_of(rank)];
    env[plant.dialect.amd ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES"] = std::to_string(plant.job.gpu_index(rank));
    env["NCCL_IB_HCA"] = "mlx5_" + std::to_string(plant.job.gpu_index(rank) / 2);
    if (plant.job.host_of(rank) == scene.host) env["NCCL_DEBUG"] = "INFO";
  }
  plant.hosts[scene.host].kernel = "5.15.0-91";
  benign(outcome);
}

/// All GPUs alike: a site that saves power.
void clocks_locked(const FaultScene& scene, FaultOutcome& outcome) {
  const double clock = limited(scaled(scene, 0.9, 0.7), 0.5, 0.95);
  for (GpuState& state : scene.plant.gpus) {
    state.clock = clock;
    state.reason = ClockReason::kLocked;
  }
  benign(outcome);
}

/// The baseline ran on hosts with faster cores.
void other_cpu(const FaultScene& scene, FaultOutcome& outcome) {
  const double speed = limited(scaled(scene, 0.85, 0.6), 0.5, 0.95);
  for (PlantProcess& process : scene.plant.processes) process.speed = speed;
  benign(outcome);
  outcome.wants_baseline = true;
}

constexpr JobNeeds kAny{};

constexpr std::array kFaults{
    FaultKind{"healthy", "nothing is wrong", kAny, healthy},
    FaultKind{"clock.drift", "the hosts' clocks drift apart; nothing else", {.several_hosts = true}, clock_drift},
    FaultKind{
        "benign.sequence_lengths", "sequences of slightly different lengths", {.transformer = true}, mild_sequences},
    FaultKind{"benign.expert_skew", "experts with the usual differences in tokens", {.experts = true}, mild_experts},
    FaultKind{"benign.longer_last_stage",
              "the last pipeline stage has one layer more",
              {.pipeline = true},
              longer_last_stage},
    FaultKind{"benign.two_gpu_models", "one host has another model of GPU", {.several_hosts = true}, two_models},
    FaultKind{"benign.trace_missing", "a rank wrote no trace", kAny, trace_missing},
    FaultKind{"benign.samples_missing", "a host has no samples", {.several_hosts = true}, samples_missing},
    FaultKind{"benign.ring_attention",
              "replicas share their sequences: keys and values go round them",
              {.transformer = true, .replicas = true},
              ring_attention},
    FaultKind{
        "benign.labels", "environments and versions differ, and it costs nothing", {.several_hosts = true}, labels},
    FaultKind{"benign.clocks_locked", "all GPUs are locked at one clock", kAny, clocks_locked},
    FaultKind{"benign.other_cpu", "slower cores than those of the job's earlier window", kAny, other_cpu},
    FaultKind{"benign.evaluation", "an evaluation phase lies in the window", kAny, evaluation},
};

}  // namespace

std::span<const FaultKind> benign_cases() { return kFaults; }

}  // namespace eroica
