#include "simulate/dialect.h"

#include <fmt/format.h>

#include "simulate/random.h"

namespace eroica {
namespace {

using Words = std::vector<std::string_view>;

Frame frame(const std::string& root, std::string_view file, std::string_view function, Random& random) {
  return fmt::format("{}{}({}): {}", root, file, random.integer(20, 900), function);
}

void draw_frames(Dialect& dialect, const JobSpec& job, Random& random) {
  dialect.root = random.pick(Words{"", "", "/workspace/nova/", "/home/user/llm-train/", "/srv/train/src/", "/code/"});
  const std::string& root = dialect.root;
  const std::string script(
      random.pick(Words{"launch.py", "run_train.py", "tools/main_train.py", "scripts/fit.py", "sft.py"}));
  const std::string engine(
      random.pick(Words{"runtime/runner.py", "core/fit_loop.py", "exec/driver.py", "learn/session.py"}));
  dialect.entry = {frame(root, script, "<module>", random),
                   frame(root, script, random.pick(Words{"run", "entry", "launch"}), random),
                   frame(root, engine, random.pick(Words{"fit", "run_epoch", "optimize"}), random)};
  dialect.step = frame(root, engine, random.pick(Words{"one_step", "do_step", "advance", "step_once"}), random);
  const std::string net(random.pick(Words{"nets/backbone.py", "arch/stack.py", "models/core.py", "zoo/tower.py"}));
  dialect.model_forward = frame(root, net, "forward", random);
  dialect.block = frame(root, net, random.pick(Words{"run_layer", "apply_block", "_layer_forward"}), random);
  dialect.to_device = frame(root, random.pick(Words{"io/stage.py", "feed/transfer.py", "data/upload.py"}),
                            random.pick(Words{"stage_batch", "upload", "put_on_gpu"}), random);
  dialect.schedule = frame(root, random.pick(Words{"opt/schedule.py", "optim/warmup.py", "solver/rates.py"}),
                           random.pick(Words{"set_lr", "advance_schedule", "next_rate"}), random);
  dialect.meters = frame(root, random.pick(Words{"stats/counters.py", "monitor/rates.py", "obs/tally.py"}),
                         random.pick(Words{"tally", "count_step", "refresh"}), random);
  dialect.exchange = frame(root, random.pick(Words{"dist/stages.py", "pipe/p2p.py", "dist/pipe_comm.py"}),
                           random.pick(Words{"swap_tensors", "pass_on", "transfer_stage"}), random);
  dialect.loss = frame(root, random.pick(Words{"nets/loss.py", "core/objective.py", "learn/criteria.py"}),
                       random.pick(Words{"loss_value", "read_loss", "mean_loss"}), random);
  dialect.log = frame(root, random.pick(Words{"obs/console.py", "monitor/report.py", "stats/writer.py"}),
                      random.pick(Words{"emit", "report_step", "publish"}), random);
  dialect.checkpoint = frame(root, random.pick(Words{"state/snapshot.py", "io/saver.py", "core/persist.py"}),
                             random.pick(Words{"write_snapshot", "save_state", "persist"}), random);
  dialect.worker_fetch =
      frame(root, random.pick(Words{"data/corpus.py", "feed/records.py", "io/shards.py"}), "__getitem__", random);
  if (job.family == Family::kVision) {
    dialect.layer_class = random.pick(Words{"ResStage", "ConvUnit", "MBBlock", "ConvNextBlock"});
    dialect.embedding_class = "Stem";
    dialect.head_class = random.pick(Words{"Classifier", "LinearHead"});
  } else {
    dialect.layer_class = random.pick(Words{"DecoderBlock", "ParallelBlock", "LlamaBlock", "GPTBlock", "Layer"});
    if (job.family == Family::kMoe)
      dialect.layer_class = random.pick(Words{"MoEBlock", "ExpertLayer", "SparseDecoderBlock"});
    dialect.embedding_class = random.pick(Words{"Embedding", "VocabEmbedding", "TokenEmbedding"});
    dialect.head_class = random.pick(Words{"LMHead", "Unembedding", "OutputProjection"});
  }
  dialect.optimizer = random.pick(Words{"AdamW", "AdamW", "Adam", "FusedAdam"});
}

void draw_machines(Dialect& dialect, const JobSpec& job, Random& random) {
  const std::string prefix(random.pick(Words{"gpu-r", "n", "node", "hgx-", "pod3-w", "cluster-b", "ml"}));
  const int first = random.integer(1, 380);
  const int width = random.integer(1, 4);
  const Words usual = dialect.amd ? Words{"rdma", "bnxt_re"} : Words{"mlx5_", "ibp", "rocep"};
  const std::string nic(random.pick(usual));
  for (int host = 0; host < job.hosts; ++host) {
    dialect.hosts.push_back(fmt::format("{}{:0{}}", prefix, first + host, width));
    dialect.nics.emplace_back();
    for (int i = 0; i < job.nics_per_host; ++i) {
      dialect.nics.back().push_back(job.bonded ? fmt::format("bond{}", i) : fmt::format("{}{}", nic, i));
    }
  }
  dialect.disk = random.pick(Words{"nvme0n1", "nvme1n1", "nvme2n1", "sda"});
  const std::string release(random.pick(Words{"2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1"}));
  dialect.torch = dialect.amd ? release + "+rocm6.3" : release + "+cu126";
  dialect.cuda = dialect.amd ? "6.3" : random.pick(Words{"12.4", "12.6", "12.8"});
  dialect.nccl = random.pick(Words{"2.21.5", "2.22.3", "2.24.3", "2.26.2"});
  dialect.driver = dialect.amd ? random.pick(Words{"6.8.5", "6.10.5"})
                               : random.pick(Words{"535.183.06", "550.90.07", "560.35.03", "570.86.15"});
  dialect.kernel = random.pick(Words{"5.15.0-1061", "6.5.0-1024", "5.14.0-427.el9", "6.8.0-48"});
  dialect.env = {{"NCCL_IB_HCA", job.bonded ? "bond" : nic},
                 {"OMP_NUM_THREADS", std::string(random.pick(Words{"4", "8", "12", "16"}))},
                 {"NCCL_SOCKET_IFNAME", std::string(random.pick(Words{"eth0", "ens7", "bond0"}))}};
  if (random.chance(0.5)) dialect.env.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  if (random.chance(0.5)) dialect.env.emplace_back("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
  if (random.chance(0.3)) dialect.env.emplace_back("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
}

constexpr std::string_view kElementwise = "void at::native::vectorized_elementwise_kernel<4, ";

std::string nvidia_gemm(const GpuModel& gpu, KernelRole role, bool simt) {
  const bool input = role == KernelRole::kGemmInput || role == KernelRole::kConvolutionInput;
  const bool weight = role == KernelRole::kGemmWeight || role == KernelRole::kConvolutionWeight;
  const std::string_view layout = input ? "nn" : weight ? "nt" : "tn";
  const std::string_view tile = input ? "128x64" : weight ? "64x128" : "128x128";
  if (simt) return fmt::format("{}_sgemm_{}_{}", gpu.compute_major >= 8 ? "ampere" : "volta", tile, layout);
  if (gpu.compute_major >= 10) {
    return fmt::format("nvjet_tst_{}x256_64x4_2x1_v_bz_{}", input ? 192 : 128, weight ? "NTT" : input ? "NNT" : "TNT");
  }
  if (gpu.compute_major == 9) {
    return fmt::format("nvjet_hsh_{}_64x5_1x2_h_bz_coopA_{}",
                       input    ? "192x128"
                       : weight ? "128x256"
                                : "256x128",
                       weight  ? "NTN"
                       : input ? "NNN"
                               : "TNN");
  }
  if (gpu.compute_major == 7) return fmt::format("volta_fp16_s884gemm_fp16_{}_ldg8_f2f_{}", tile, layout);
  return fmt::format("ampere_bf16_s16816gemm_bf16_{}_ldg8_f2f_stages_64x{}_{}", tile, weight ? 3 : 4, layout);
}

std::string amd_gemm(KernelRole role, bool simt) {
  const bool input = role == KernelRole::kGemmInput || role == KernelRole::kConvolutionInput;
  const bool weight = role == KernelRole::kGemmWeight || role == KernelRole::kConvolutionWeight;
  const std::string_view layout = input ? "Ailk_Bljk" : weight ? "Ailk_Bjlk" : "Alik_Bljk";
  if (simt) return fmt::format("Cijk_{}_SB_MT64x64x16_SN_1LDSB0_AMAS3_BL1_BS1", layout);
  return fmt::format("Cijk_{}_BBS_BH_Bias_MT{}x128x64_MI16x16x1_SN_LDSB1_AFC1_AF1EM1", layout, weight ? 256 : 192);
}

}  // namespace

std::string Dialect::runtime(std::string_view call) const {
  if (!amd) return std::string(call);
  if (call == "cudaLaunchKernelExC") return "hipExtLaunchKernel";
  if (call == "cudaHostAlloc") return "hipHostMalloc";
  return "hip" + std::string(call.substr(4));
}

Dialect draw_dialect(const JobSpec& job) {
  Random random(job.seed, "dialect");
  Dialect dialect;
  dialect.amd = job.gpu->vendor == DeviceVendor::kAmd;
  draw_frames(dialect, job, random);
  draw_machines(dialect, job, random);
  dialect.record_shapes = random.chance(0.6);
  dialect.flow_events = !dialect.amd && random.chance(0.35);
  dialect.sequence_numbers = random.chance(0.4);
  dialect.distributed_info = random.chance(0.5);
  dialect.collective_args_on_kernels = !dialect.amd || random.chance(0.3);
  dialect.new_nccl_names = random.chance(0.7);
  dialect.gzip = random.chance(0.3);
  dialect.cut_window = random.chance(0.4);
  dialect.compute_stream = dialect.amd ? 0 : 7;
  dialect.first_step = random.integer(50, 90000);
  dialect.job_id = fmt::format("{}-{}", random.pick(Words{"train", "sft", "pre", "run"}), random.integer(1000, 99999));
  return dialect;
}

std::string kernel_name(const GpuModel& gpu, KernelRole role, bool simt) {
  const bool amd = gpu.vendor == DeviceVendor::kAmd;
  switch (role) {
    case KernelRole::kGemm:
    case KernelRole::kGemmInput:
    case KernelRole::kGemmWeight:
      return amd ? amd_gemm(role, simt) : nvidia_gemm(gpu, role, simt);
    case KernelRole::kConvolution:
      if (simt)
        return amd ? "miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f2x3_stride1"
                   : "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int, int, int, "
                     "float const*, int)";
      return amd                      ? "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1"
             : gpu.compute_major >= 9 ? "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
                                        "tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cudnn"
                                      : "sm80_xmma_fprop_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
                                        "tilesize128x128x64_stage3_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn";
    case KernelRole::kConvolutionInput:
      if (simt)
        return amd ? "miopenSp3AsmConvBwd_v30_3_1_gfx94x_fp32_f2x3"
                   : "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, float, "
                     "float, float>(float)";
      return amd ? "igemm_bwd_gtcx3_nhwc_bf16_bx0_ex0"
                 : "sm80_xmma_dgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_stage4_"
                   "warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn";
    case KernelRole::kConvolutionWeight:
      if (simt)
        return amd ? "miopenSp3AsmConvWrw_v30_3_1_gfx94x_fp32"
                   : "void wgrad_alg0_engine<float, 512, 6, 5, 3, 3, 3, false, 512>(int, int, int, float const*, int)";
      return amd ? "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1"
                 : "sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_stage3_"
                   "warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn";
    case KernelRole::kAttention:
      if (simt)
        return "fmha_cutlassF_f32_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, "
               "cutlass::arch::Sm80, true, 64, 128, 128, true, true>::Params)";
      if (amd) return "attn_fwd.kd";
      if (gpu.compute_major == 7)
        return "fmha_cutlassF_f16_aligned_64x128_rf_sm70(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t, "
               "cutlass::arch::Sm70, true, 64, 128, 128, true, true>::Params)";
      return "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false, "
             "false, cutlass::bfloat16_t>, false, true, false, true, true>(pytorch_flash::Flash_fwd_params)";
    case KernelRole::kAttentionBack:
      if (simt)
        return "fmha_cutlassB_f32_aligned_64x64_k128_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::"
               "arch::Sm80, float, true, false, true, 64, 64, 128>::Params)";
      if (amd) return "bwd_kernel_dk_dv.kd";
      if (gpu.compute_major == 7)
        return "fmha_cutlassB_f16_aligned_64x64_k128_sm70(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::"
               "arch::Sm70, cutlass::half_t, true, false, true, 64, 64, 128>::Params)";
      return "void "
             "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<128, "
             "64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t>, false, true, false, "
             "true>(pytorch_flash::Flash_bwd_params)";
    case KernelRole::kNorm:
      return "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
             "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)";
    case KernelRole::kNormBack:
      return "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, "
             "float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, "
             "c10::BFloat16*, int)";
    case KernelRole::kAdd:
      return std::string(kElementwise) +
             "at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> >(int, "
             "at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3>)";
    case KernelRole::kActivation:
      return std::string(kElementwise) +
             "at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() "
             "const::{lambda(c10::BFloat16)#1}, at::detail::Array<char*, 2> >(int)";
    case KernelRole::kRope:
      return std::string(kElementwise) +
             "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
             "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int)";
    case KernelRole::kEmbedding:
      return "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, "
             "-2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)";
    case KernelRole::kEmbeddingBack:
      return "void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>(long const*, "
             "c10::BFloat16 const*, long const*, long)";
    case KernelRole::kSoftmax:
      return "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float, "
             "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, c10::BFloat16 const*, int)";
    case KernelRole::kSoftmaxBack:
      return "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, float, float, c10::BFloat16, "
             "at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float "
             "const*, int)";
    case KernelRole::kBatchNorm:
      return "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__nv_bfloat16, float, 512, true, 1, true>(cudnnTensorStruct, "
             "__nv_bfloat16 const*, cudnnTensorStruct, __nv_bfloat16*)";
    case KernelRole::kBatchNormBack:
      return "void cudnn::bn_bw_1C11_kernel_new<__nv_bfloat16, float, float2, 512, true, 1>(float, float, float, "
             "float, cudnnTensorStruct)";
    case KernelRole::kTopK:
      return "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(at::cuda::detail::TensorInfo<float "
             "const, unsigned int>, unsigned int, unsigned int, bool)";
    case KernelRole::kIndex:
      return "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, "
             "bool)";
    case KernelRole::kGradientNorm:
      return "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
             "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, "
             "(at::native::NormType)1, c10::BFloat16, 1, 1, 0> >()";
    case KernelRole::kOptimizer:
      return "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
             "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
             "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false> >()";
    case KernelRole::kCast:
      return "void "
             "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{"
             "lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, "
             "at::detail::Array<char*, 2> >(int)";
    case KernelRole::kSlowVariant:
      return amd ? "Cijk_Alik_Bljk_BBS_BH_Bias_MT64x32x32_MI16x16x1_SN_LDSB0_AFC1_AF1EM1"
             : gpu.compute_major >= 9
                 ? "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage6_warpsize2x2x1_tensor16x8x16_kernel"
                 : "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8";
  }
  return "unknown_kernel";
}

std::string collective_kernel_name(const Dialect& dialect, std::string_view kind, std::string_view dtype,
                                   std::string_view algorithm, std::string_view protocol) {
  if (dialect.amd) return "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)";
  std::string_view word = "SendRecv";
  bool reduces = false;
  if (kind == "allreduce") word = "AllReduce", reduces = true;
  if (kind == "_reduce_scatter_base") word = "ReduceScatter", reduces = true;
  if (kind == "_allgather_base") word = "AllGather";
  if (kind == "broadcast") word = "Broadcast";
  const bool pairs = word == "SendRecv";
  if (dialect.new_nccl_names) {
    if (pairs) return "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
    const std::string_view type = dtype == "Float" ? "f32" : "bf16";
    return fmt::format("ncclDevKernel_{}{}_{}_{}(ncclDevKernelArgsStorage<4096ul>)", word,
                       reduces ? fmt::format("_Sum_{}", type) : "", algorithm, protocol);
  }
  const std::string_view type = pairs || !reduces ? "int8_t" : dtype == "Float" ? "float" : "__nv_bfloat16";
  return fmt::format("ncclKernel_{}_{}_{}_Sum_{}(ncclDevComm*, unsigned long, ncclWork*)", word,
                     pairs ? "RING" : algorithm, pairs ? "SIMPLE" : protocol, type);
}

}  // namespace eroica
