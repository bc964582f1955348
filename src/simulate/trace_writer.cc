#include "simulate/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulate/json_text.h"
#include "simulate/random.h"

namespace eroica {
namespace {

constexpr std::array<std::string_view, 4> kCategories{"python_function", "cpu_op", "user_annotation", "cuda_runtime"};

std::string join(const std::vector<int>& ranks) {
  if (ranks.size() > 30) return fmt::format("[{}, ...]", fmt::join(ranks.begin(), ranks.begin() + 30, ", "));
  return fmt::format("[{}]", fmt::join(ranks, ", "));
}

int call_id(std::string_view name) {
  if (name == "cudaLaunchKernel" || name == "hipLaunchKernel") return 211;
  if (name == "cudaLaunchKernelExC" || name == "hipExtLaunchKernel") return 430;
  if (name == "cudaMemcpyAsync" || name == "hipMemcpyAsync") return 41;
  if (name == "cudaStreamSynchronize" || name == "hipStreamSynchronize") return 131;
  if (name == "cudaStreamWaitEvent" || name == "hipStreamWaitEvent") return 147;
  if (name == "cudaMalloc" || name == "hipMalloc") return 20;
  if (name == "cudaFree" || name == "hipFree") return 22;
  if (name == "cudaHostAlloc" || name == "hipHostMalloc") return 27;
  if (name == "cudaFreeHost" || name == "hipFreeHost") return 24;
  return 200;
}

class TraceWriter {
 public:
  TraceWriter(const Plant& plant, const JobProgram& program, const Timeline& timeline, int rank,
              const WindowSpan& window)
      : plant_(plant),
        look_(plant.dialect),
        program_(program),
        own_(program.ranks[rank]),
        timeline_(timeline.ranks[rank]),
        blocked_(timeline.blocked),
        rank_(rank),
        window_(window),
        clock_(host_clock(plant, plant.job.host_of(rank))),
        pid_(process_id(plant, rank)),
        device_(plant.job.gpu_index(rank)) {
    Random random(plant.job.seed, "ids", rank);
    first_external_ = random.integer(800, 20000);
    first_correlation_ = random.integer(800, 90000);
    first_python_ = random.integer(40, 3000);
    autograd_tid_ = pid_ + random.integer(90, 700);
  }

  std::string write();

 private:
  void header();
  void threads();
  void spans();
  void kernels();
  void collective_args(const CollectiveCall& call);
  void footer();
  void event(std::string_view category, std::string_view name, int pid, int tid, int64_t start, int64_t end);
  [[nodiscard]] int64_t reading(int64_t t) const { return clock_.reading_ns(t); }
  [[nodiscard]] int tid(const HostSpan& span) const { return span.thread == 0 ? pid_ : autograd_tid_; }
  [[nodiscard]] int64_t correlation(int32_t kernel) const { return first_correlation_ + kernel; }

  const Plant& plant_;
  const Dialect& look_;
  const JobProgram& program_;
  const RankProgram& own_;
  const RankTimeline& timeline_;
  bool blocked_;
  int rank_;
  WindowSpan window_;
  HostClock clock_;
  int pid_;
  int device_;
  int first_external_ = 0;
  int first_correlation_ = 0;
  int first_python_ = 0;
  int autograd_tid_ = 0;
  JsonText out_;
  std::vector<int> external_;         // of each span: its own, or of the operator around it
  std::vector<int> kernel_external_;  // of each kernel's launch
  std::vector<int64_t> launch_ns_;
  std::vector<int> launch_tid_;
};

void TraceWriter::event(std::string_view category, std::string_view name, int pid, int tid, int64_t start,
                        int64_t end) {
  const int64_t from = reading(start);
  out_ << ",\n{\"ph\": \"X\", \"cat\": \"" << category << "\", \"name\": \"" << name << "\", \"pid\": " << pid
       << ", \"tid\": " << tid << ", \"ts\": ";
  out_.time(from) << ", \"dur\": ";
  out_.time(reading(end) - from) << ", \"args\": {";
}

void TraceWriter::header() {
  const GpuModel& gpu = plant_.job.gpu_of(rank_);
  out_ << "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [";
  for (int i = 0; i < plant_.job.gpus_per_host; ++i) {
    out_ << (i == 0 ? "\n" : ",\n") << "{\"id\": " << i << ", \"name\": \"" << gpu.name
         << "\", \"totalGlobalMem\": " << gpu.memory_bytes << ", \"computeMajor\": " << gpu.compute_major
         << ", \"computeMinor\": " << gpu.compute_minor
         << ", \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048, \"regsPerBlock\": 65536, "
            "\"warpSize\": "
         << gpu.warp << ", \"sharedMemPerBlock\": " << (look_.amd ? 65536 : 49152)
         << ", \"numSms\": " << gpu.multiprocessors << "}";
  }
  out_ << "\n],\n";
  if (look_.distributed_info) {
    out_ << "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " << rank_
         << ", \"world_size\": " << plant_.job.world() << ", \"pg_count\": " << program_.communicators.size()
         << ", \"pg_config\": [";
    for (size_t i = 0; i < program_.communicators.size(); ++i) {
      const Communicator& group = program_.communicators[i];
      out_ << (i == 0 ? "" : ", ") << "{\"pg_name\": \"" << group.name << "\", \"pg_desc\": \"" << group.desc
           << "\", \"backend_config\": \"cuda:nccl\", \"pg_size\": " << group.ranks.size()
           << ", \"ranks\": " << join(group.ranks) << "}";
    }
    out_ << "], \"nccl_version\": \"" << look_.nccl << "\"},\n";
  }
  out_ << "\"record_shapes\": " << static_cast<int>(look_.record_shapes) << ",\n\"with_stack\": 1,\n\""
       << (look_.amd ? "hip_runtime_version\": 60342134" : "cuda_runtime_version\": 12060") << ",\n\"trace_id\": \""
       << fmt::format("{:032X}", hash_combine(plant_.job.seed, rank_)) << "\",\n\"displayTimeUnit\": \"ms\",\n"
       << "\"baseTimeNanoseconds\": " << clock_.base_unix_ns << ",\n\"traceEvents\": [\n";
  out_ << "{\"name\": \"process_name\", \"ph\": \"M\", \"ts\": ";
  out_.time(reading(window_.start_ns)) << ", \"pid\": " << pid_ << ", \"tid\": 0, \"args\": {\"name\": \"python3\"}}";
}

void TraceWriter::threads() {
  const auto meta = [&](std::string_view what, int64_t pid, int64_t tid, std::string_view key,
                        const std::string& value) {
    out_ << ",\n{\"name\": \"" << what << "\", \"ph\": \"M\", \"ts\": ";
    out_.time(reading(window_.start_ns)) << ", \"pid\": " << pid << ", \"tid\": " << tid << ", \"args\": {\"" << key
                                         << "\": \"" << value << "\"}}";
  };
  meta("process_labels", pid_, 0, "labels", "CPU");
  for (int i = 0; i < plant_.job.gpus_per_host; ++i) {
    meta("process_name", i, 0, "name", "python3");
    meta("process_labels", i, 0, "labels", fmt::format("GPU {}", i));
  }
  for (const int stream : own_.lane_streams)
    meta("thread_name", device_, stream, "name", fmt::format("stream {} ", stream));
  meta("thread_name", pid_, pid_, "name", fmt::format("thread {} (python3)", pid_));
  meta("thread_name", pid_, autograd_tid_, "name", fmt::format("thread {} (pt_autograd_{})", autograd_tid_, device_));
}

void TraceWriter::collective_args(const CollectiveCall& call) {
  const Communicator& group = program_.communicators[call.communicator];
  out_ << ", \"Collective name\": \"" << program_.names.text(call.kind) << "\", \"In msg nelems\": " << call.in_elements
       << ", \"Out msg nelems\": " << call.out_elements << ", \"Group size\": " << group.ranks.size()
       << ", \"dtype\": \"" << program_.names.text(call.dtype)
       << "\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": \"" << group.name
       << "\", \"Process Group Description\": \"" << group.desc << "\", \"Process Group Ranks\": \""
       << join(group.ranks) << "\"";
  if (call.source >= 0) out_ << ", \"Src Rank\": " << call.source;
  if (call.destination >= 0) out_ << ", \"Dst Rank\": " << call.destination;
  if (look_.sequence_numbers) out_ << ", \"Seq\": " << call.sequence;
}

void TraceWriter::spans() {
  const auto& all = timeline_.spans;
  external_.assign(all.size(), 0);
  kernel_external_.assign(own_.kernels.size(), 0);
  launch_ns_.assign(own_.kernels.size(), INT64_MIN);
  launch_tid_.assign(own_.kernels.size(), 0);
  std::vector<int> python(all.size(), -1);  // id of the Python function itself or around it
  int next_external = first_external_;
  int next_python = first_python_;
  int64_t next_other = first_correlation_ + static_cast<int64_t>(own_.kernels.size());
  int index = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const HostSpan& span = all[i];
    const int outer_python = span.parent >= 0 ? python[span.parent] : -1;
    const int outer_external = span.parent >= 0 ? external_[span.parent] : 0;
    python[i] = span.span == SpanKind::kPython ? next_python++ : outer_python;
    const bool numbered = span.span == SpanKind::kOperator || span.span == SpanKind::kAnnotation;
    external_[i] = numbered ? next_external++ : outer_external;
    if (span.kernel >= 0) {
      kernel_external_[span.kernel] = outer_external;
      launch_ns_[span.kernel] = span.start_ns;
      launch_tid_[span.kernel] = tid(span);
    }
    int64_t start = span.start_ns;
    int64_t end = span.end_ns;
    if (end <= window_.start_ns || start >= window_.end_ns) continue;
    if (span.span == SpanKind::kPython) {
      start = std::max(start, window_.start_ns);
      end = std::min(end, window_.end_ns);
    } else if (start < window_.start_ns || (end > window_.end_ns && !blocked_)) {
      continue;
    }
    if (span.open && span.span == SpanKind::kRuntime) continue;
    event(kCategories[static_cast<size_t>(span.span)], program_.names.text(span.name), pid_, tid(span), start,
          std::min(end, window_.end_ns));
    switch (span.span) {
      case SpanKind::kPython:
        if (outer_python >= 0) {
          out_ << "\"Python parent id\": " << outer_python << ", ";
        } else {
          out_ << "\"Python parent id\": null, ";
        }
        out_ << "\"Python id\": " << python[i];
        break;
      case SpanKind::kOperator:
      case SpanKind::kAnnotation:
        out_ << "\"External id\": " << external_[i] << ", \"Record function id\": 0";
        if (span.open) out_ << ", \"finished\": false";
        if (span.dims != 0) out_ << ", \"Input Dims\": " << program_.names.text(span.dims);
        if (span.collective >= 0) {
          collective_args(own_.calls[span.collective]);
          out_ << ", \"Rank\": " << rank_;
        }
        break;
      case SpanKind::kRuntime: {
        const int64_t id = span.kernel >= 0 ? correlation(span.kernel) : next_other++;
        out_ << "\"External id\": " << outer_external << ", \"" << (look_.amd ? "cid" : "cbid")
             << "\": " << call_id(program_.names.text(span.name)) << ", \"correlation\": " << id;
        break;
      }
    }
    if (span.span == SpanKind::kRuntime) {
      out_ << "}}";
    } else {
      out_ << ", \"Ev Idx\": " << index++ << "}}";
    }
  }
}

void TraceWriter::kernels() {
  const GpuModel& gpu = plant_.job.gpu_of(rank_);
  for (size_t i = 0; i < own_.kernels.size(); ++i) {
    const Kernel& kernel = own_.kernels[i];
    const KernelRun& run = timeline_.kernels[i];
    if (run.start_ns < window_.start_ns || run.start_ns >= window_.end_ns) continue;
    const bool open = run.end_ns < 0 || run.end_ns > window_.end_ns;
    if (open && !blocked_) continue;
    if (open && timeline_.died_ns >= 0) continue;
    const int64_t end = open ? window_.end_ns : run.end_ns;
    const int stream = own_.lane_streams[kernel.lane];
    const bool copy = kernel.kind == KernelKind::kCopyIn || kernel.kind == KernelKind::kCopyOut;
    event(copy ? "gpu_memcpy" : "kernel", program_.names.text(kernel.name), device_, stream, run.start_ns, end);
    if (!look_.amd) out_ << "\"External id\": " << kernel_external_[i] << ", \"queued\": 0, ";
    out_ << "\"device\": " << device_ << ", ";
    if (!look_.amd) out_ << "\"context\": 1, ";
    out_ << "\"stream\": " << stream << ", \"correlation\": " << correlation(static_cast<int32_t>(i));
    if (copy) {
      if (look_.amd) out_ << ", \"kind\": \"" << (kernel.kind == KernelKind::kCopyIn ? "HtoD" : "DtoH") << "\"";
      out_ << ", \"bytes\": " << kernel.bytes << ", \"memory bandwidth (GB/s)\": ";
      out_.number(static_cast<double>(kernel.bytes) / static_cast<double>(std::max<int64_t>(1, end - run.start_ns)));
    } else if (look_.amd) {
      out_ << ", \"grid\": [" << kernel.grid * kernel.block << ", 1, 1], \"block\": [" << kernel.block
           << ", 1, 1], \"kind\": \"Dispatch Kernel\"";
    } else {
      const double per_sm = static_cast<double>(kernel.grid) / gpu.multiprocessors;
      const bool collective = kernel.collective >= 0;
      out_ << ", \"registers per thread\": "
           << (collective            ? 96
               : kernel.tensor > 0.1 ? 168
                                     : 32)
           << ", \"shared memory\": " << (kernel.tensor > 0.1 || collective ? 98304 : 0) << ", \"blocks per SM\": ";
      out_.number(per_sm) << ", \"warps per SM\": ";
      out_.number(per_sm * kernel.block / 32) << ", \"grid\": [" << kernel.grid << ", 1, 1], \"block\": ["
                                              << kernel.block << ", 1, 1], \"est. achieved occupancy %\": "
                                              << (collective ? 0 : std::min(100, 20 + static_cast<int>(per_sm * 6)));
    }
    if (kernel.collective >= 0 && look_.collective_args_on_kernels) collective_args(own_.calls[kernel.collective]);
    out_ << "}}";
    if (!look_.flow_events || launch_ns_[i] < window_.start_ns) continue;
    out_ << ",\n{\"ph\": \"s\", \"id\": " << correlation(static_cast<int32_t>(i)) << ", \"pid\": " << pid_
         << ", \"tid\": " << launch_tid_[i] << ", \"ts\": ";
    out_.time(reading(launch_ns_[i])) << ", \"cat\": \"ac2g\", \"name\": \"ac2g\"}";
    out_ << ",\n{\"ph\": \"f\", \"id\": " << correlation(static_cast<int32_t>(i)) << ", \"pid\": " << device_
         << ", \"tid\": " << stream << ", \"ts\": ";
    out_.time(reading(run.start_ns)) << ", \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"}";
  }
}

void TraceWriter::footer() {
  const int64_t from = reading(window_.start_ns);
  out_ << ",\n{\"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ";
  out_.time(from) << ", \"dur\": ";
  out_.time(reading(window_.end_ns) - from) << ", \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"name\": "
                                               "\"PyTorch Profiler (0)\", \"args\": {\"Op count\": 0}}";
  out_ << "\n],\n\"traceName\": \"/tmp/libkineto_activities_" << pid_ << ".json\"\n}\n";
}

std::string TraceWriter::write() {
  out_.reserve(timeline_.spans.size() * 260 + own_.kernels.size() * 700);
  header();
  threads();
  spans();
  kernels();
  footer();
  return out_.take();
}

}  // namespace

int process_id(const Plant& plant, int rank) {
  Random random(plant.job.seed, "pid", plant.job.host_of(rank));
  return random.integer(300, 120000) + plant.job.gpu_index(rank) * random.integer(1, 90);
}

std::string kineto_trace(const Plant& plant, const JobProgram& program, const Timeline& timeline, int rank,
                         const WindowSpan& window) {
  return TraceWriter(plant, program, timeline, rank, window).write();
}

}  // namespace eroica
