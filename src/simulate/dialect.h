#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulate/job_spec.h"

namespace eroica {

/// A Python function as the profiler names it.
using Frame = std::string;  // "file(line): function"

/// How a job looks from outside: everything that a reader sees and that has no weight. Drawn from the seed.
struct Dialect {
  std::string root;          ///< of the project's files; may be empty
  std::vector<Frame> entry;  ///< outermost first; open through the whole window
  Frame step, model_forward, block, to_device, schedule, meters, exchange, loss, log, checkpoint, worker_fetch;
  std::string layer_class, embedding_class, head_class;
  std::string optimizer;  ///< "AdamW"
  std::vector<std::string> hosts;
  std::vector<std::vector<std::string>> nics;  ///< of each host
  std::string disk;
  std::string torch, cuda, nccl, driver, kernel;
  std::vector<std::pair<std::string, std::string>> env;
  bool record_shapes = false;
  bool flow_events = false;       ///< ac2g
  bool sequence_numbers = false;  ///< "Seq" in collectives
  bool distributed_info = false;
  bool collective_args_on_kernels = true;
  bool new_nccl_names = true;
  bool gzip = false;
  bool cut_window = false;  ///< the window begins inside a step
  int compute_stream = 7;
  int first_step = 0;
  std::string job_id;
  bool amd = false;

  [[nodiscard]] std::string runtime(std::string_view call) const;  ///< "cudaLaunchKernel" or its HIP name
};

Dialect draw_dialect(const JobSpec& job);

/// Kernels of the job's GPU by what they do.
enum class KernelRole : uint8_t {
  kGemm,
  kGemmInput,
  kGemmWeight,
  kAttention,
  kAttentionBack,
  kNorm,
  kNormBack,
  kAdd,
  kActivation,
  kRope,
  kEmbedding,
  kEmbeddingBack,
  kSoftmax,
  kSoftmaxBack,
  kConvolution,
  kConvolutionInput,
  kConvolutionWeight,
  kBatchNorm,
  kBatchNormBack,
  kTopK,
  kIndex,
  kGradientNorm,
  kOptimizer,
  kCast,
  kSlowVariant,
};
/// The mangled-looking name; `simt`: matrix products without tensor cores.
std::string kernel_name(const GpuModel& gpu, KernelRole role, bool simt);

/// "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)". `kind` as in record_param_comms.
std::string collective_kernel_name(const Dialect& dialect, std::string_view kind, std::string_view dtype,
                                   std::string_view algorithm, std::string_view protocol);

}  // namespace eroica
