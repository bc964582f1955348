#include "simulate/rank_writer.h"

#include <algorithm>

namespace eroica {
namespace {

bool is_matrix(KernelRole role) {
  return role == KernelRole::kGemm || role == KernelRole::kGemmInput || role == KernelRole::kGemmWeight ||
         role == KernelRole::kConvolution || role == KernelRole::kConvolutionInput ||
         role == KernelRole::kConvolutionWeight || role == KernelRole::kAttention || role == KernelRole::kAttentionBack;
}

/// Share of the matrix rate that this kind of kernel reaches.
double reached(KernelRole role) {
  switch (role) {
    case KernelRole::kAttention:
      return 0.72;
    case KernelRole::kAttentionBack:
      return 0.6;
    case KernelRole::kConvolution:
      return 0.62;
    case KernelRole::kConvolutionInput:
      return 0.58;
    case KernelRole::kConvolutionWeight:
      return 0.52;
    case KernelRole::kGemmWeight:
      return 0.94;
    default:
      return 1;
  }
}

int64_t round_ns(double ns) { return std::max<int64_t>(1, static_cast<int64_t>(ns)); }

}  // namespace

RankWriter::RankWriter(const Plant& plant, JobProgram& program, int rank)
    : plant_(plant),
      program_(program),
      out_(program.ranks[rank]),
      gpu_(plant.job.gpu_of(rank)),
      rank_(rank),
      host_noise_(plant.job.seed, "host", rank),
      kernel_noise_(plant.job.seed, "kernel", rank) {
  out_.lane_streams.push_back(plant.dialect.compute_stream);
}

void RankWriter::begin(SpanKind span, std::string_view name) {
  out_.instructions.push_back({.what = Do::kBegin, .span = span, .step = step_, .name = program_.names.id(name)});
}

void RankWriter::end() { out_.instructions.push_back({.what = Do::kEnd, .step = step_}); }

void RankWriter::work_us(double us) {
  const double noise = host_noise_.lognormal(0.12) + (host_noise_.chance(0.002) ? host_noise_.uniform(1, 8) : 0);
  out_.instructions.push_back({.what = Do::kWork, .step = step_, .ns = round_ns(us * 1e3 * noise)});
}

void RankWriter::extra_ns(Do what, double ns) {
  out_.instructions.push_back({.what = what, .step = step_, .ns = round_ns(ns)});
}

void RankWriter::driver(std::string_view name, double us) {
  out_.instructions.push_back({.what = Do::kDriver,
                               .step = step_,
                               .name = program_.names.id(plant_.dialect.runtime(name)),
                               .ns = round_ns(us * 1e3)});
}

void RankWriter::sync(std::string_view name) {
  out_.instructions.push_back(
      {.what = Do::kSync, .step = step_, .name = name.empty() ? 0 : program_.names.id(plant_.dialect.runtime(name))});
}

void RankWriter::thread(int index) { emit(Do::kThread, index); }

void RankWriter::emit(Do what, uint32_t index) {
  out_.instructions.push_back({.what = what, .step = step_, .index = index});
}

Kernel RankWriter::make_kernel(const KernelWork& work) {
  const bool simt = plant_.job.bf16_matrix == 0;
  const bool matrix = is_matrix(work.role);
  const double rate = (matrix && !simt ? gpu_.matrix_flops_per_s : gpu_.vector_flops_per_s) * reached(work.role);
  const double bytes = work.bytes * (simt ? 2 : 1);
  const double compute_ns = work.flops / rate * 1e9;
  const double memory_ns = bytes / gpu_.memory_bytes_per_s * 1e9;
  const double ns = std::max(compute_ns, memory_ns) + 1800;
  double noise = kernel_noise_.lognormal(matrix ? 0.009 : 0.014);
  if (kernel_noise_.chance(0.003)) noise += kernel_noise_.uniform(0.05, 0.4);
  Kernel kernel;
  kernel.step = step_;
  kernel.ns = round_ns(ns * noise);
  kernel.bound_by_clock = static_cast<float>(compute_ns >= memory_ns ? 0.96 : 0.12);
  kernel.sm = static_cast<float>(compute_ns >= memory_ns ? 0.94 : 0.8);
  kernel.tensor = static_cast<float>(matrix && !simt ? 0.62 * compute_ns / ns : 0);
  kernel.dram = static_cast<float>(0.88 * memory_ns / ns);
  const double tile = matrix ? 128.0 * 128 : 4096;
  const double tiles = matrix ? work.bytes / 6 / tile * 4 : work.bytes / 2 / tile;
  kernel.grid = static_cast<uint32_t>(std::clamp(tiles, 1.0, 4e5)) + 1;
  kernel.block = matrix ? 256 : 128;
  return kernel;
}

void RankWriter::push_launch(const Kernel& kernel, std::string_view call, std::string_view) {
  const double noise = host_noise_.lognormal(0.1);
  const auto index = static_cast<uint32_t>(out_.kernels.size());
  out_.kernels.push_back(kernel);
  out_.instructions.push_back({.what = Do::kLaunch,
                               .step = step_,
                               .name = program_.names.id(plant_.dialect.runtime(call)),
                               .index = index,
                               .ns = round_ns(plant_.job.launch_us * 1e3 * noise)});
}

void RankWriter::launch_kernel(const KernelWork& work, uint32_t kernel_name_id) {
  Kernel kernel = make_kernel(work);
  kernel.name = kernel_name_id;
  if (is_matrix(work.role) && variant_ > 1) kernel.ns = round_ns(static_cast<double>(kernel.ns) * variant_);
  for (size_t i = 0; i < std::min(pending_.size(), kernel.after.size()); ++i)
    kernel.after[i] = pending_[pending_.size() - 1 - i];
  pending_.clear();
  last_compute_ = static_cast<int32_t>(out_.kernels.size());
  push_launch(kernel, "cudaLaunchKernel", "");
}

void RankWriter::op(std::string_view name, const KernelWork& work) {
  const bool matrix = is_matrix(work.role);
  const int slices = matrix ? 1 : plant_.job.slices;
  for (int slice = 0; slice < slices; ++slice) {
    KernelWork part = work;
    part.flops /= slices;
    part.bytes /= slices;
    begin(SpanKind::kOperator, name);
    if (!part.dims.empty()) out_.instructions.back().index = program_.names.id(part.dims);
    work_us(plant_.job.op_us);
    const KernelRole role =
        matrix && variant_ > 1 && work.role == KernelRole::kGemm ? KernelRole::kSlowVariant : work.role;
    launch_kernel(part, program_.names.id(kernel_name(gpu_, role, plant_.job.bf16_matrix == 0)));
    work_us(plant_.job.op_us * 0.4);
    end();
    work_us(1.2);
  }
}

void RankWriter::backward_op(std::string_view node, std::string_view name, std::initializer_list<KernelWork> works) {
  begin(SpanKind::kOperator, "autograd::engine::evaluate_function: " + std::string(node));
  work_us(1.5);
  begin(SpanKind::kOperator, node);
  for (const KernelWork& work : works) op(name, work);
  end();
  work_us(1);
  end();
}

void RankWriter::copy_in(double bytes) {
  Kernel kernel;
  kernel.name = program_.names.id(plant_.dialect.amd ? "CopyHostToDevice" : "Memcpy HtoD (Pinned -> Device)");
  kernel.kind = KernelKind::kCopyIn;
  kernel.step = step_;
  kernel.bytes = static_cast<uint64_t>(bytes);
  kernel.ns = round_ns((bytes / gpu_.pcie_bytes_per_s * 1e9 + 1500) * kernel_noise_.lognormal(0.012));
  for (size_t i = 0; i < std::min(pending_.size(), kernel.after.size()); ++i) kernel.after[i] = pending_[i];
  begin(SpanKind::kOperator, "aten::to");
  begin(SpanKind::kOperator, "aten::_to_copy");
  begin(SpanKind::kOperator, "aten::copy_");
  work_us(plant_.job.op_us);
  push_launch(kernel, "cudaMemcpyAsync", "");
  end();
  end();
  end();
}

void RankWriter::item() {
  begin(SpanKind::kPython, "<built-in method item of Tensor object at 0x7f3e1c0a9d60>");
  begin(SpanKind::kOperator, "aten::item");
  begin(SpanKind::kOperator, "aten::_local_scalar_dense");
  work_us(plant_.job.op_us * 0.6);
  Kernel kernel;
  kernel.name = program_.names.id(plant_.dialect.amd ? "CopyDeviceToHost" : "Memcpy DtoH (Device -> Pageable)");
  kernel.kind = KernelKind::kCopyOut;
  kernel.step = step_;
  kernel.bytes = 4;
  kernel.ns = round_ns(1700 * kernel_noise_.lognormal(0.05));
  for (size_t i = 0; i < std::min(pending_.size(), kernel.after.size()); ++i)
    kernel.after[i] = pending_[pending_.size() - 1 - i];
  pending_.clear();
  push_launch(kernel, "cudaMemcpyAsync", "");
  sync("cudaStreamSynchronize");
  work_us(1);
  end();
  end();
  end();
}

uint8_t RankWriter::lane(uint32_t communicator, uint16_t channel) {
  const auto key = std::pair(communicator, channel);
  const auto found = lanes_.find(key);
  if (found != lanes_.end()) return found->second;
  const auto index = static_cast<uint8_t>(out_.lane_streams.size());
  const int previous = out_.lane_streams.back();
  out_.lane_streams.push_back(index == 1 ? (plant_.dialect.amd ? 5 : 20) : previous + (plant_.dialect.amd ? 1 : 4));
  return lanes_[key] = index;
}

int32_t RankWriter::collective(const CollectiveWork& work) {
  const Communicator& communicator = program_.communicators[work.communicator];
  CollectiveCall call;
  call.communicator = work.communicator;
  call.kind = program_.names.id(work.kind);
  call.annotation = program_.names.id(work.annotation);
  call.dtype = program_.names.id(work.dtype);
  call.in_elements = static_cast<uint64_t>(std::max(1.0, work.in_elements));
  call.out_elements = static_cast<uint64_t>(std::max(1.0, work.out_elements));
  call.wire_bytes = work.wire_bytes;
  if (work.peer >= 0) {
    const int receiver = work.sends ? work.peer : rank_;
    const int sender = work.sends ? rank_ : work.peer;
    const auto place = [&](int rank) {
      return static_cast<int32_t>(std::ranges::find(communicator.ranks, rank) - communicator.ranks.begin());
    };
    const auto members = static_cast<int32_t>(communicator.ranks.size());
    call.channel = members > 2         ? static_cast<uint16_t>(3 + place(sender) * members + place(receiver))
                   : sender < receiver ? 1
                                       : 2;
    (work.sends ? call.destination : call.source) = place(work.peer);
  }
  call.match = matches_[{work.communicator, call.channel}]++;
  call.sequence = ++sequences_[work.communicator];

  Kernel kernel;
  kernel.kind = KernelKind::kCollective;
  kernel.lane = lane(work.communicator, call.channel);
  kernel.step = step_;
  kernel.collective = static_cast<int32_t>(out_.calls.size());
  kernel.name = program_.names.id(
      collective_kernel_name(plant_.dialect, work.kind, work.dtype, plant_.network.algorithm, plant_.network.protocol));
  kernel.grid = plant_.network.channels;
  kernel.block = 544;
  kernel.after[0] = last_compute_;
  out_.calls.push_back(call);

  begin(SpanKind::kOperator, work.op);
  work_us(plant_.job.op_us * 0.8);
  begin(SpanKind::kOperator, "record_param_comms");
  out_.instructions.back().collective = kernel.collective;
  work_us(plant_.job.op_us * 0.4);
  begin(SpanKind::kAnnotation, work.annotation);
  work_us(plant_.job.op_us * 0.5);
  const auto index = static_cast<int32_t>(out_.kernels.size());
  push_launch(kernel, "cudaLaunchKernelExC", "");
  end();
  work_us(1);
  end();
  end();
  return index;
}

void RankWriter::wait_for(int32_t kernel) {
  if (kernel == kNoKernel) return;
  driver("cudaStreamWaitEvent", 1.3);
  pending_.push_back(kernel);
}

}  // namespace eroica
