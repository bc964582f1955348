#include "simulate/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulate/deeds.h"
#include "simulate/groups.h"
#include "simulate/rank_writer.h"
#include "simulate/work_amounts.h"

namespace eroica {

uint32_t Names::id(std::string_view text) {
  const auto [entry, added] = ids_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (added) texts_.emplace_back(text);
  return entry->second;
}

namespace {

using Role = KernelRole;

/// Writes the training loop of one rank.
class LoopWriter {
 public:
  LoopWriter(const Plant& plant, const Groups& groups, JobProgram& program, int rank)
      : plant_(plant),
        job_(plant.job),
        look_(plant.dialect),
        layout_(plant.job.layout),
        groups_(groups),
        rank_(rank),
        stage_(layout_.stage(rank)),
        w_(plant, program, rank),
        deeds_(plant, rank) {}

  void write(int steps) {
    for (const Frame& frame : look_.entry) w_.begin(SpanKind::kPython, frame);
    for (int step = 0; step < steps; ++step) write_step(step);
  }

 private:
  [[nodiscard]] bool first_stage() const { return stage_ == 0; }
  [[nodiscard]] bool last_stage() const { return stage_ == layout_.pp - 1; }
  [[nodiscard]] bool simple() const { return job_.family == Family::kVision; }
  [[nodiscard]] int layers() const { return job_.stage_layers[stage_]; }
  [[nodiscard]] int members(int group) const {
    return group < 0 ? 1 : static_cast<int>(groups_.all[group].ranks.size());
  }

  void write_step(int step) {
    w_.set_step(step);
    w_.emit(Do::kStep, step);
    w_.begin(SpanKind::kPython, look_.step);
    w_.begin(SpanKind::kAnnotation, fmt::format("ProfilerStep#{}", look_.first_step + step));
    fetch();
    deeds_.after_fetch(w_);
    upload();
    const std::string optimizer = look_.optimizer;
    w_.begin(SpanKind::kAnnotation, fmt::format("Optimizer.zero_grad#{}.zero_grad", optimizer));
    w_.work_us(50);
    w_.end();
    const int repeats = 1 + deeds_.repeats(step);
    for (int round = 0; round < repeats; ++round) {
      deeds_.before_forward(w_);
      micro_batches();
      w_.wait_for(last_gradient_);
      last_gradient_ = kNoKernel;
      clip();
      if (round + 1 == repeats) optimize();
    }
    housekeeping();
    if (deeds_.evaluates(step)) evaluate();
    if (step % job_.sync_every == 0) read_loss();
    deeds_.step_end(w_);
    w_.end();
    w_.end();
    w_.work_us(8);
  }

  void fetch() {
    w_.begin(SpanKind::kPython, "torch/utils/data/dataloader.py(729): __next__");
    w_.begin(SpanKind::kAnnotation, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    w_.begin(SpanKind::kPython, "torch/utils/data/dataloader.py(1487): _next_data");
    w_.work_us(14);
    w_.begin(SpanKind::kPython, "torch/utils/data/dataloader.py(1434): _get_data");
    w_.emit(Do::kFetch);
    w_.end();
    w_.work_us(12);
    w_.end();
    w_.end();
    w_.end();
  }

  void upload() {
    amount_ = amount_of(plant_, rank_, w_.step(), 0);
    w_.begin(SpanKind::kPython, look_.to_device);
    w_.work_us(6);
    deeds_.in_upload(w_);
    w_.copy_in(job_.input_bytes * amount_.tokens);
    w_.work_us(3);
    w_.end();
  }

  /// 1F1B: some forwards ahead, then one forward and one backward in turn, then the backwards that are left.
  void micro_batches() {
    const int total = job_.micro_batches;
    const int ahead = std::min(layout_.pp - 1 - stage_, total);
    int forwards = 0;
    int backwards = 0;
    for (; forwards < ahead; ++forwards) forward(forwards);
    while (backwards < total) {
      if (forwards < total) forward(forwards++);
      backward(backwards, backwards + 1 == total);
      ++backwards;
    }
  }

  double tokens() const { return amount_.tokens * job_.micro_batch * job_.sequence; }
  double activation_elements() const { return tokens() * job_.hidden; }

  void exchange(bool sends, bool forward_direction) {
    const int group = (sends == forward_direction ? groups_.next_stage : groups_.previous_stage)[rank_];
    const int peer = rank_ + (sends == forward_direction ? 1 : -1) * layout_.dp * layout_.tp;
    w_.begin(SpanKind::kPython, look_.exchange);
    w_.work_us(4);
    const int32_t kernel = pass(group, peer, activation_elements(), sends);
    if (!sends) w_.wait_for(kernel);
    w_.end();
  }

  int32_t pass(int group, int peer, double elements, bool sends) {
    return w_.collective({.communicator = static_cast<uint32_t>(group),
                          .kind = sends ? "send" : "recv",
                          .op = sends ? "c10d::send" : "c10d::recv_",
                          .annotation = sends ? "nccl:send" : "nccl:recv",
                          .in_elements = elements,
                          .out_elements = elements,
                          .wire_bytes = elements * job_.weight_bytes,
                          .peer = peer,
                          .sends = sends});
  }

  /// Ring attention: every rank hands its keys and values on and takes those of the rank before it, until all were
  /// everywhere.
  void pass_keys_and_values() {
    const int group = groups_.context[rank_];
    if (group < 0) return;
    const std::vector<int>& ranks = groups_.all[group].ranks;
    const size_t at = static_cast<size_t>(std::ranges::find(ranks, rank_) - ranks.begin());
    const int next = ranks[(at + 1) % ranks.size()];
    const int previous = ranks[(at + ranks.size() - 1) % ranks.size()];
    const double elements = 2 * activation_elements() / layout_.tp;
    for (size_t hop = 1; hop < ranks.size(); ++hop) {
      const int32_t sent = pass(group, next, elements, true);
      const int32_t received = pass(group, previous, elements, false);
      w_.wait_for(sent);
      w_.wait_for(received);
    }
  }

  void forward(int micro_batch) {
    amount_ = amount_of(plant_, rank_, w_.step(), micro_batch);
    micro_batch_ = micro_batch;
    if (!first_stage()) exchange(false, true);
    const bool ddp = layout_.pp == 1 && job_.family != Family::kFsdp && layout_.dp > 1;
    if (ddp) w_.begin(SpanKind::kAnnotation, "DistributedDataParallel.forward");
    w_.begin(SpanKind::kPython, "torch/nn/modules/module.py(1751): _call_impl");
    w_.begin(SpanKind::kPython, look_.model_forward);
    w_.work_us(14);
    if (first_stage()) embedding();
    int32_t gathered = job_.family == Family::kFsdp ? gather_layer() : kNoKernel;
    for (int layer = 0; layer < layers(); ++layer) {
      w_.begin(SpanKind::kPython, fmt::format("nn.Module: {}_{}", look_.layer_class, layer));
      w_.begin(SpanKind::kPython, look_.block);
      w_.work_us(5);
      if (job_.family == Family::kFsdp) {
        w_.wait_for(gathered);
        if (layer + 1 < layers()) gathered = gather_layer();
      }
      if (micro_batch == 0) deeds_.in_layer(w_, layer, layers());
      deeds_.choose_kernels(w_);
      if (simple()) {
        convolution_layer(layer);
      } else {
        transformer_layer(layer);
      }
      w_.set_variant(1);
      w_.work_us(2);
      w_.end();
      w_.end();
    }
    if (last_stage()) head();
    w_.end();
    w_.end();
    if (ddp) w_.end();
    if (!last_stage()) exchange(true, true);
  }

  [[nodiscard]] std::string dims(double a, double b, double c) const {
    if (!look_.record_shapes) return {};
    return fmt::format("[[{}, {}], [{}, {}]]", static_cast<int64_t>(a), static_cast<int64_t>(b),
                       static_cast<int64_t>(b), static_cast<int64_t>(c));
  }
  [[nodiscard]] std::string dims(double a, double b) const {
    if (!look_.record_shapes) return {};
    return fmt::format("[[{}, {}]]", static_cast<int64_t>(a), static_cast<int64_t>(b));
  }

  KernelWork product(Role role, double rows, double inner, double columns) const {
    return {role, 2 * rows * inner * columns, 2 * (rows * inner + inner * columns + rows * columns),
            dims(rows, inner, columns)};
  }
  KernelWork elementwise(Role role, double elements, double passes) const {
    return {role, 2 * elements, 2 * elements * passes, dims(tokens(), elements / std::max(1.0, tokens()))};
  }

  void gemm(std::string_view op, double rows, double inner, double columns) {
    w_.op(op, product(Role::kGemm, rows, inner, columns));
  }
  void gemm_back(double rows, double inner, double columns) {
    w_.backward_op("MmBackward0", "aten::mm",
                   {product(Role::kGemmInput, rows, columns, inner), product(Role::kGemmWeight, inner, rows, columns)});
  }

  void embedding() {
    w_.begin(SpanKind::kPython, fmt::format("nn.Module: {}_0", look_.embedding_class));
    w_.work_us(4);
    if (simple()) {
      w_.op("aten::cudnn_convolution", conv(Role::kConvolution, 0.3));
    } else {
      w_.op("aten::embedding", elementwise(Role::kEmbedding, activation_elements(), 2));
    }
    w_.end();
  }

  void head() {
    w_.begin(SpanKind::kPython, fmt::format("nn.Module: {}_0", look_.head_class));
    w_.work_us(4);
    if (simple()) {
      gemm("aten::addmm", images(), job_.hidden * 8, 1000);
      w_.op("aten::_log_softmax", elementwise(Role::kSoftmax, images() * 1000, 2));
    } else {
      const double columns = static_cast<double>(job_.vocabulary) / layout_.tp;
      gemm("aten::mm", tokens(), job_.hidden, columns);
      w_.op("aten::_log_softmax", elementwise(Role::kSoftmax, tokens() * columns, 3));
    }
    w_.end();
  }

  void tensor_reduce() {
    const int group = groups_.tensor[rank_];
    if (group < 0) return;
    w_.wait_for(all_reduce(group, activation_elements(), "BFloat16", job_.weight_bytes));
  }

  int32_t all_reduce(int group, double elements, std::string_view dtype, double element_bytes) {
    const double n = members(group);
    return w_.collective({.communicator = static_cast<uint32_t>(group),
                          .kind = "allreduce",
                          .op = "c10d::allreduce_",
                          .annotation = "nccl:all_reduce",
                          .dtype = dtype,
                          .in_elements = elements,
                          .out_elements = elements,
                          .wire_bytes = 2 * (n - 1) / n * elements * element_bytes});
  }
  int32_t gather(int group, double elements_each) {
    const double n = members(group);
    return w_.collective({.communicator = static_cast<uint32_t>(group),
                          .kind = "_allgather_base",
                          .op = "c10d::_allgather_base_",
                          .annotation = "nccl:_all_gather_base",
                          .in_elements = elements_each,
                          .out_elements = elements_each * n,
                          .wire_bytes = (n - 1) * elements_each * job_.weight_bytes});
  }
  int32_t scatter(int group, double elements) {
    const double n = members(group);
    return w_.collective({.communicator = static_cast<uint32_t>(group),
                          .kind = "_reduce_scatter_base",
                          .op = "c10d::_reduce_scatter_base_",
                          .annotation = "nccl:_reduce_scatter_base",
                          .in_elements = elements,
                          .out_elements = elements / n,
                          .wire_bytes = (n - 1) / n * elements * job_.weight_bytes});
  }

  int32_t gather_layer() {
    return groups_.data[rank_] < 0 ? kNoKernel : gather(groups_.data[rank_], layer_parameters() / layout_.dp);
  }

  void shuffle_tokens(double share) {
    const int group = groups_.expert[rank_];
    if (group < 0) return;
    const double n = layout_.ep;
    const double elements = activation_elements() * 2;
    w_.wait_for(w_.collective({.communicator = static_cast<uint32_t>(group),
                               .kind = "all_to_allv",
                               .op = "c10d::alltoall_base_",
                               .annotation = "nccl:all_to_all",
                               .in_elements = elements,
                               .out_elements = elements * share,
                               .wire_bytes = (n - 1) / n * elements * std::max(1.0, share) * job_.weight_bytes}));
  }

  double inner_size() const { return static_cast<double>(job_.hidden) * job_.feed_forward; }
  [[nodiscard]] double attention_flops() const {
    return 2.0 * amount_.attention * job_.micro_batch * job_.sequence * job_.sequence * job_.hidden / layout_.tp;
  }

  void transformer_layer(int layer) {
    const double h = job_.hidden;
    const double t = tokens();
    w_.op("aten::native_layer_norm", elementwise(Role::kNorm, t * h, 2));
    gemm("aten::mm", t, h, 3 * h / layout_.tp);
    w_.op("aten::mul", elementwise(Role::kRope, 2 * t * h / layout_.tp, 2));
    pass_keys_and_values();
    w_.op("aten::_flash_attention_forward",
          {Role::kAttention, attention_flops(), 8 * t * h / layout_.tp, dims(t, h / layout_.tp)});
    gemm("aten::mm", t, h / layout_.tp, h);
    tensor_reduce();
    w_.op("aten::add", elementwise(Role::kAdd, t * h, 3));
    w_.op("aten::native_layer_norm", elementwise(Role::kNorm, t * h, 2));
    if (job_.family == Family::kMoe) {
      const double share = expert_share(plant_, rank_, w_.step(), micro_batch_, layer);
      gemm("aten::mm", t, h, job_.experts);
      w_.op("aten::topk", elementwise(Role::kTopK, t * job_.experts, 2));
      w_.op("aten::index_select", elementwise(Role::kIndex, 2 * t * h, 2));
      shuffle_tokens(share);
      gemm("aten::_grouped_mm", 2 * t * share, h, inner_size() / 2 / layout_.tp);
      w_.op("aten::silu", elementwise(Role::kActivation, 2 * t * share * inner_size() / 2 / layout_.tp, 2));
      gemm("aten::_grouped_mm", 2 * t * share, inner_size() / 2 / layout_.tp, h);
      shuffle_tokens(share);
      w_.op("aten::index_add_", elementwise(Role::kIndex, 2 * t * h, 2));
    } else {
      gemm("aten::mm", t, h, inner_size() / layout_.tp);
      w_.op("aten::silu", elementwise(Role::kActivation, t * inner_size() / layout_.tp, 2));
      gemm("aten::mm", t, inner_size() / layout_.tp, h);
    }
    tensor_reduce();
    w_.op("aten::add", elementwise(Role::kAdd, t * h, 3));
  }

  void transformer_layer_back(int layer) {
    const double h = job_.hidden;
    const double t = tokens();
    w_.backward_op("AddBackward0", "aten::add", {elementwise(Role::kAdd, t * h, 3)});
    if (job_.family == Family::kMoe) {
      const double share = expert_share(plant_, rank_, w_.step(), micro_batch_, layer);
      w_.backward_op("IndexAddBackward0", "aten::index_select", {elementwise(Role::kIndex, 2 * t * h, 2)});
      shuffle_tokens(share);
      gemm_back(2 * t * share, inner_size() / 2 / layout_.tp, h);
      w_.backward_op("SiluBackward0", "aten::silu_backward",
                     {elementwise(Role::kActivation, 2 * t * share * inner_size() / 2 / layout_.tp, 3)});
      gemm_back(2 * t * share, h, inner_size() / 2 / layout_.tp);
      shuffle_tokens(share);
      w_.backward_op("IndexSelectBackward0", "aten::index_add_", {elementwise(Role::kIndex, 2 * t * h, 3)});
    } else {
      gemm_back(t, inner_size() / layout_.tp, h);
      w_.backward_op("SiluBackward0", "aten::silu_backward",
                     {elementwise(Role::kActivation, t * inner_size() / layout_.tp, 3)});
      gemm_back(t, h, inner_size() / layout_.tp);
    }
    tensor_reduce();
    w_.backward_op("NativeLayerNormBackward0", "aten::native_layer_norm_backward",
                   {elementwise(Role::kNormBack, t * h, 4)});
    gemm_back(t, h / layout_.tp, h);
    w_.backward_op("FlashAttentionBackward0", "aten::_flash_attention_backward",
                   {{Role::kAttentionBack, 2.5 * attention_flops(), 16 * t * h / layout_.tp, dims(t, h / layout_.tp)}});
    gemm_back(t, h, 3 * h / layout_.tp);
    tensor_reduce();
    w_.backward_op("NativeLayerNormBackward0", "aten::native_layer_norm_backward",
                   {elementwise(Role::kNormBack, t * h, 4)});
  }

  double images() const { return amount_.tokens * job_.micro_batch; }
  double image_pixels() const { return images() * job_.image_side * job_.image_side; }
  KernelWork conv(Role role, double size) const {
    const double flops = size * 2 * image_pixels() * job_.hidden * job_.hidden / 16 * 9;
    const double bytes = 2 * image_pixels() * job_.hidden / 2;
    std::string shape;
    if (look_.record_shapes) {
      shape = fmt::format("[[{}, {}, {}, {}], [{}, {}, 3, 3]]", static_cast<int64_t>(images()), job_.hidden,
                          job_.image_side, job_.image_side, job_.hidden, job_.hidden);
    }
    return {role, flops, bytes, shape};
  }
  void convolution_layer(int) {
    const double elements = image_pixels() * job_.hidden / 4;
    for (const double size : {0.25, 1.0, 0.25}) {
      w_.op("aten::cudnn_convolution", conv(Role::kConvolution, size));
      w_.op("aten::cudnn_batch_norm", elementwise(Role::kBatchNorm, elements, 3));
      w_.op("aten::clamp_min_", elementwise(Role::kActivation, elements, 2));
    }
    w_.op("aten::add_", elementwise(Role::kAdd, elements, 3));
  }
  void convolution_layer_back() {
    const double elements = image_pixels() * job_.hidden / 4;
    w_.backward_op("AddBackward0", "aten::add", {elementwise(Role::kAdd, elements, 3)});
    for (const double size : {0.25, 1.0, 0.25}) {
      w_.backward_op("ReluBackward0", "aten::threshold_backward", {elementwise(Role::kActivation, elements, 3)});
      w_.backward_op("CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward",
                     {elementwise(Role::kBatchNormBack, elements, 4)});
      w_.backward_op("ConvolutionBackward0", "aten::convolution_backward",
                     {conv(Role::kConvolutionInput, size), conv(Role::kConvolutionWeight, size)});
    }
  }

  /// Parameters of a layer that this rank holds.
  [[nodiscard]] double layer_parameters() const {
    const double h = job_.hidden;
    if (simple()) return 11 * h * h / 16 * 8;
    const double experts = job_.family == Family::kMoe ? static_cast<double>(job_.experts) / layout_.ep / 4 : 1;
    return (4 * h * h + 2 * h * inner_size() * experts) / layout_.tp;
  }

  void backward(int micro_batch, bool last) {
    amount_ = amount_of(plant_, rank_, w_.step(), micro_batch);
    micro_batch_ = micro_batch;
    if (!last_stage()) exchange(false, false);
    w_.begin(SpanKind::kPython, "torch/_tensor.py(592): backward");
    w_.begin(SpanKind::kPython, "torch/autograd/__init__.py(243): backward");
    w_.begin(SpanKind::kPython, "<built-in method run_backward of torch._C._EngineBase object at 0x7f51be02a8e0>");
    w_.work_us(15);
    w_.thread(1);
    if (last_stage()) head_back();
    int32_t gathered = job_.family == Family::kFsdp ? gather_layer() : kNoKernel;
    int pending_layers = 0;
    for (int layer = layers() - 1; layer >= 0; --layer) {
      if (job_.family == Family::kFsdp) {
        w_.wait_for(gathered);
        if (layer > 0) gathered = gather_layer();
      }
      if (simple()) {
        convolution_layer_back();
      } else {
        transformer_layer_back(layer);
      }
      if (last && groups_.data[rank_] >= 0) {
        if (++pending_layers == job_.bucket_layers || layer == 0 || job_.family == Family::kFsdp) {
          reduce_gradients(pending_layers * layer_parameters());
          pending_layers = 0;
        }
      }
    }
    if (first_stage() && !simple()) {
      w_.backward_op("EmbeddingBackward0", "aten::embedding_dense_backward",
                     {elementwise(Role::kEmbeddingBack, activation_elements(), 3)});
    }
    w_.thread(0);
    w_.work_us(20);
    w_.end();
    w_.end();
    w_.end();
    if (!first_stage()) exchange(true, false);
  }

  void head_back() {
    if (simple()) {
      w_.backward_op("LogSoftmaxBackward0", "aten::_log_softmax_backward_data",
                     {elementwise(Role::kSoftmaxBack, images() * 1000, 2)});
      gemm_back(images(), job_.hidden * 8, 1000);
      return;
    }
    const double columns = static_cast<double>(job_.vocabulary) / layout_.tp;
    w_.backward_op("LogSoftmaxBackward0", "aten::_log_softmax_backward_data",
                   {elementwise(Role::kSoftmaxBack, tokens() * columns, 3)});
    gemm_back(tokens(), job_.hidden, columns);
  }

  void reduce_gradients(double parameters) {
    const int group = groups_.data[rank_];
    const double elements = deeds_.mismatched_elements(w_.step(), parameters);
    const bool scatters = job_.zero || job_.family == Family::kFsdp;
    last_gradient_ = scatters ? scatter(group, elements) : all_reduce(group, elements, "BFloat16", job_.weight_bytes);
  }

  [[nodiscard]] double own_parameters() const {
    const double total =
        layers() * layer_parameters() +
        (simple() ? 0
                  : (first_stage() + last_stage()) * static_cast<double>(job_.vocabulary) * job_.hidden / layout_.tp);
    return job_.zero || job_.family == Family::kFsdp ? total / layout_.dp : total;
  }

  void clip() {
    w_.begin(SpanKind::kPython, "torch/nn/utils/clip_grad.py(206): clip_grad_norm_");
    w_.work_us(10);
    w_.op("aten::_foreach_norm", {Role::kGradientNorm, own_parameters() * 2, own_parameters() * 2, {}});
    if (job_.world() > 1 && (layout_.tp > 1 || layout_.pp > 1 || job_.family == Family::kFsdp))
      w_.wait_for(all_reduce(0, 1, "Float", 4));
    w_.end();
  }

  void optimize() {
    const std::string& name = look_.optimizer;
    w_.begin(SpanKind::kPython, "torch/optim/optimizer.py(493): wrapper");
    w_.begin(SpanKind::kAnnotation, fmt::format("Optimizer.step#{}.step", name));
    w_.begin(SpanKind::kPython, fmt::format("torch/optim/{}.py(231): step", name == "Adam" ? "adam" : "adamw"));
    w_.work_us(20);
    constexpr int kPieces = 4;
    for (int i = 0; i < kPieces; ++i) {
      w_.op("aten::_fused_adamw_",
            {Role::kOptimizer, own_parameters() * 8 / kPieces, own_parameters() * 14 / kPieces, {}});
    }
    w_.end();
    if (job_.zero && groups_.data[rank_] >= 0) w_.wait_for(gather(groups_.data[rank_], own_parameters()));
    w_.end();
    w_.end();
  }

  void housekeeping() {
    w_.begin(SpanKind::kPython, look_.schedule);
    w_.work_us(28);
    w_.end();
    w_.begin(SpanKind::kPython, look_.meters);
    w_.work_us(90);
    w_.end();
    if (w_.step() % job_.log_every == 0 && rank_ == 0) {
      w_.begin(SpanKind::kPython, look_.log);
      w_.work_us(120);
      w_.end();
    }
  }

  void read_loss() {
    w_.begin(SpanKind::kPython, look_.loss);
    w_.work_us(8);
    if (layout_.dp > 1) w_.wait_for(all_reduce(0, 1, "Float", 4));
    w_.item();
    w_.end();
  }

  void evaluate() {
    w_.begin(SpanKind::kPython, fmt::format("{}eval/validate.py(61): validate", look_.root));
    const int batches = 2;
    for (int i = 0; i < batches; ++i) {
      fetch();
      upload();
      for (int m = 0; m < job_.micro_batches; ++m) forward(m);
    }
    w_.item();
    w_.end();
  }

  const Plant& plant_;
  const JobSpec& job_;
  const Dialect& look_;
  const Layout& layout_;
  const Groups& groups_;
  int rank_;
  int stage_;
  RankWriter w_;
  DeedWriter deeds_;
  Amount amount_;
  int micro_batch_ = 0;
  int32_t last_gradient_ = kNoKernel;
};

}  // namespace

JobProgram write_program(const Plant& plant) {
  const Groups groups = make_groups(plant.job);
  JobProgram program;
  program.names.id("");
  program.communicators = groups.all;
  program.ranks.resize(plant.job.world());
  program.steps = plant.job.steps + 1;
  for (int rank = 0; rank < plant.job.world(); ++rank) LoopWriter(plant, groups, program, rank).write(program.steps);
  return program;
}

}  // namespace eroica
