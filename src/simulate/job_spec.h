#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/gpu_model.h"

namespace eroica {

enum class Family : uint8_t { kLlm, kMoe, kVision, kFsdp };
std::string_view family_name(Family family);

/// How a job is cut over its ranks. Rank = (pipeline stage · dp + replica) · tp + shard.
struct Layout {
  int dp = 1;
  int tp = 1;
  int pp = 1;
  int ep = 1;  ///< divides dp
  [[nodiscard]] int world() const { return dp * tp * pp; }
  [[nodiscard]] int stage(int rank) const { return rank / (dp * tp); }
  [[nodiscard]] int replica(int rank) const { return rank / tp % dp; }
  [[nodiscard]] int shard(int rank) const { return rank % tp; }
  [[nodiscard]] int rank(int stage, int replica, int shard) const { return (stage * dp + replica) * tp + shard; }
};

/// What a fault asks of the job, so that it can act at all.
struct JobNeeds {
  bool several_hosts = false;
  int hosts = 1;  ///< at least
  bool pipeline = false;
  bool experts = false;
  bool transformer = false;  ///< attention whose work depends on the sequence
  bool tensor_parallel = false;
  bool fat_input = false;      ///< copies to the device that weigh
  bool busy_host = false;      ///< host work that is not far below the device's
  bool heavy_network = false;  ///< collectives that compute does not hide
  bool replicas = false;       ///< dp > 1
  bool overlap = false;        ///< collectives run beside compute for much of a step, and hide behind it
  bool bonded = false;         ///< NICs are bonds of two ports
};

/// A synthetic training job: everything that does not change in a window. Sizes are per rank.
struct JobSpec {
  uint64_t seed = 0;
  Family family = Family::kLlm;
  Layout layout;
  int hosts = 1;
  int gpus_per_host = 1;
  const GpuModel* gpu = nullptr;
  const GpuModel* other_gpu = nullptr;  ///< of the last host, where the job is heterogeneous
  int steps = 12;
  std::vector<int> stage_layers;  ///< layers of each pipeline stage
  int hidden = 2048;
  int heads = 16;
  int sequence = 2048;
  int micro_batch = 2;  ///< sequences or images
  int micro_batches = 1;
  int feed_forward = 4;  ///< times hidden
  int vocabulary = 32000;
  int experts = 8;
  int image_side = 56;
  double weight_bytes = 2;
  bool ring_attention = false;  ///< keys and values go round the replicas, which share their sequences
  bool zero = false;            ///< gradients reduce-scattered, parameters gathered behind the optimizer
  int bucket_layers = 2;        ///< layers whose gradients travel together
  int sync_every = 1;           ///< steps from one reading of the loss to the next
  int log_every = 1;
  int workers = 4;           ///< dataloader workers a rank
  int prefetch = 2;          ///< batches a worker prepares ahead
  double load_share = 0.4;   ///< of a step that the workers need for a batch, all together
  double input_bytes = 2e5;  ///< copied to the device each step
  int nics_per_host = 1;
  double nic_bits_per_s = 200e9;
  bool bonded = false;
  int cpus = 96;
  double cpu_hz = 2.8e9;
  double op_us = 9;  ///< host time of an operator beside its launch
  double launch_us = 4.6;
  int bf16_matrix = 1;          ///< 0: every matrix product in FP32 without tensor cores
  int slices = 1;               ///< kernels that one element-wise operator is cut into
  std::vector<double> silicon;  ///< speed of each rank's GPU, around 1

  [[nodiscard]] int world() const { return layout.world(); }
  [[nodiscard]] int host_of(int rank) const { return rank / gpus_per_host; }
  [[nodiscard]] int gpu_index(int rank) const { return rank % gpus_per_host; }
  [[nodiscard]] const GpuModel& gpu_of(int rank) const {
    return other_gpu != nullptr && host_of(rank) == hosts - 1 ? *other_gpu : *gpu;
  }
};

/// What the user fixed; 0 = left to the seed.
struct JobWishes {
  Layout layout{0, 0, 0, 0};
  int ranks = 0;
  int steps = 0;
};

/// Gives the device less to do: fewer tokens, or where `tokens` is false, narrower layers.
void shrink(JobSpec& job, bool tokens);

/// Draws a job from the seed that meets the needs and the wishes. Two seeds differ in nearly everything.
JobSpec draw_job(uint64_t seed, const JobNeeds& needs, const JobWishes& wishes);

}  // namespace eroica
