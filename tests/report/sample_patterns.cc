#include "report/sample_patterns.h"

#include <fmt/format.h>

namespace eroica::testing {
namespace {

constexpr int64_t kMs = 1'000'000;

int64_t& of(Budget& budget, TimeClass time_class) { return budget[static_cast<size_t>(time_class)]; }

NameTable words() {
  NameTable names;
  names[kAllReduce] = {"gloo:all_reduce", "", "", FunctionKind::kCollective, {}};
  names[kMatrixProduct] = {"aten::mm", "aten::mm(Tensor, Tensor) -> Tensor", "", FunctionKind::kCompute, {}};
  names[kAugment] = {"augment", "", "train.py", FunctionKind::kPython, {"train.py: main", "train.py: __getitem__"}};
  names[kBackward] = {"backward", "", "train.py", FunctionKind::kPython, {"train.py: main"}};
  return names;
}

QuantileSketch sketch(int64_t middle_ns, uint64_t count) {
  QuantileSketch result;
  result.add(middle_ns, count - count / 10);
  result.add(middle_ns * 3 / 2, count / 10);
  return result;
}

FunctionPattern function(uint64_t name, FunctionKind kind, uint64_t executions, int64_t exposed_ns, int64_t total_ns) {
  FunctionPattern pattern;
  pattern.name = name;
  pattern.kind = kind;
  pattern.executions = executions;
  pattern.total_ns = total_ns;
  pattern.self_ns = kind == FunctionKind::kPython ? total_ns / 2 : total_ns;
  pattern.exposed_ns = exposed_ns;
  pattern.durations = sketch(total_ns / static_cast<int64_t>(executions), executions);
  pattern.longest_ns = pattern.durations.quantile(1);
  return pattern;
}

}  // namespace

SampleJob cpu_job() {
  SampleJob job;
  job.names = words();
  constexpr int kSteps = 16;
  for (int rank = 0; rank < 4; ++rank) {
    const bool slow = rank == 2;
    const int64_t fetch = (slow ? 24 : 4) * kMs;
    const int64_t network = (slow ? 31 : 51) * kMs;
    const int64_t compute = 14 * kMs;
    const int64_t python = 5 * kMs;
    const int64_t idle = kMs;

    RankPattern pattern;
    pattern.rank = rank;
    pattern.host = fmt::format("h{}", rank);
    pattern.world_size = 4;
    pattern.job_id = "sample";
    pattern.window_start_unix_ns = 1'790'000'000'000'000'000 + rank;
    pattern.step_source = StepSource::kSequence;
    pattern.step_note = "an optimizer step and a fetch each";
    FunctionPattern all_reduce = function(kAllReduce, FunctionKind::kCollective, 2 * kSteps, 0, 0);
    FunctionPattern augment = function(kAugment, FunctionKind::kPython, 4 * kSteps, 0, fetch * kSteps);
    augment.line = 88;
    for (int s = 0; s < kSteps; ++s) {
      const bool cut = s == 0 || s == kSteps - 1;
      const int64_t extra = s == 9 && slow ? 27 * kMs : 0;
      StepPattern step;
      step.number = s;
      step.start_ns = pattern.window_ns;
      step.complete = !cut;
      of(step.budget, TimeClass::kCompute) = cut ? compute / 2 : compute;
      of(step.budget, TimeClass::kCommunication) = cut ? network / 2 : network;
      of(step.budget, TimeClass::kDataloader) = (cut ? fetch / 2 : fetch) + extra;
      of(step.budget, TimeClass::kPython) = cut ? python / 2 : python;
      of(step.budget, TimeClass::kIdle) = cut ? idle / 2 : idle;
      step.fetch_ns = of(step.budget, TimeClass::kDataloader);
      for (size_t c = 0; c < kTimeClassCount; ++c) {
        step.duration_ns += step.budget[c];
        pattern.budget[c] += step.budget[c];
      }
      all_reduce.step_exposed_us.push_back(static_cast<uint32_t>(of(step.budget, TimeClass::kCommunication) / 1000));
      augment.step_exposed_us.push_back(static_cast<uint32_t>(step.fetch_ns / 1000));
      pattern.window_ns += step.duration_ns;
      pattern.steps.push_back(step);
    }
    all_reduce.total_ns = all_reduce.self_ns = all_reduce.exposed_ns = of(pattern.budget, TimeClass::kCommunication);
    all_reduce.durations = sketch(network / 2, 2 * kSteps);
    all_reduce.longest_ns = network;
    all_reduce.bytes = 2 * kSteps * int64_t{3'942'912};
    all_reduce.issuers = {{kBackward, 31, all_reduce.total_ns}};
    augment.exposed_ns = of(pattern.budget, TimeClass::kDataloader);
    augment.hardware = {{"cpu.run", fmt::format("rank {}", rank), "cores", slow ? 0.31 : 0.97, 0.05, fetch}};
    FunctionPattern product = function(kMatrixProduct, FunctionKind::kCompute, 6 * kSteps,
                                       of(pattern.budget, TimeClass::kCompute), compute * kSteps);
    product.issuers = {{kBackward, 31, product.total_ns}};
    pattern.functions = {
        all_reduce, product, augment,
        function(kBackward, FunctionKind::kPython, kSteps, of(pattern.budget, TimeClass::kPython), 60 * kMs * kSteps)};
    pattern.functions.back().line = 31;

    pattern.groups = {{"0", "default_pg", {0, 1, 2, 3}, 4}};
    CollectiveSummary summary;
    summary.kind = "all_reduce";
    summary.dtype = "Float";
    summary.count = 2 * kSteps;
    summary.bytes = all_reduce.bytes;
    summary.total_ns = summary.exposed_ns = all_reduce.total_ns;
    summary.durations = all_reduce.durations;
    summary.step_total_us = all_reduce.step_exposed_us;
    pattern.collectives = {summary};
    for (uint32_t i = 0; i < 2 * kSteps; ++i) {
      const StepPattern& step = pattern.steps[i / 2];
      pattern.instances.push_back({0, -1, i, step.start_ns + (i % 2) * kMs, network / 2, 3'942'912, -1});
    }
    pattern.instances_seen = pattern.instances.size();
    pattern.import.events = 33'000 + static_cast<uint64_t>(rank);
    pattern.import.bytes = 11'500'000;
    job.patterns.push_back(std::move(pattern));
  }
  return job;
}

SampleJob gpu_job(int ranks) {
  SampleJob job;
  job.names = words();
  job.names[kAllReduce].text = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
  job.names[kMatrixProduct].text = "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_128x128_32x5>";
  for (int rank = 0; rank < ranks; ++rank) {
    RankPattern pattern;
    pattern.rank = rank;
    pattern.host = fmt::format("node{}.cluster.example.org", rank / 8);
    pattern.gpu = rank % 8;
    pattern.gpu_job = true;
    pattern.device = "Accelerator 80GB";
    pattern.world_size = ranks + 2;
    pattern.step_source = StepSource::kProfilerStep;
    pattern.steps_numbered = true;
    for (int s = 0; s < 3; ++s) {
      StepPattern step;
      step.number = 100 + s;
      step.start_ns = pattern.window_ns;
      step.irregular = s == 1;
      of(step.budget, TimeClass::kCompute) = 400 * kMs + rank * kMs / 10;
      of(step.budget, TimeClass::kMemory) = 6 * kMs;
      of(step.budget, TimeClass::kCommunication) = (rank == 11 ? 20 : 60) * kMs;
      of(step.budget, TimeClass::kLaunch) = (rank == 11 ? 45 : 5) * kMs;
      of(step.budget, TimeClass::kSync) = 2 * kMs;
      step.fetch_ns = 3 * kMs;
      for (size_t c = 0; c < kTimeClassCount; ++c) {
        step.duration_ns += step.budget[c];
        pattern.budget[c] += step.budget[c];
      }
      pattern.window_ns += step.duration_ns;
      pattern.steps.push_back(step);
    }
    pattern.functions = {
        function(kMatrixProduct, FunctionKind::kCompute, 900, of(pattern.budget, TimeClass::kCompute),
                 of(pattern.budget, TimeClass::kCompute)),
        function(kAllReduce, FunctionKind::kCollective, 36, of(pattern.budget, TimeClass::kCommunication), 420 * kMs)};
    pattern.functions[0].issuers = {{kBackward, 31, pattern.functions[0].total_ns}};
    pattern.groups = {{"7", "", {}, ranks}};
    CollectiveSummary summary;
    summary.kind = "all_reduce";
    summary.dtype = "BFloat16";
    summary.count = 36;
    summary.bytes = 36 * int64_t{52'428'800};
    summary.total_ns = 420 * kMs;
    summary.exposed_ns = of(pattern.budget, TimeClass::kCommunication);
    summary.durations = sketch(420 * kMs / 36, 36);
    pattern.collectives = {summary};
    pattern.instance_sampling = 3;
    pattern.instances_seen = 36;
    pattern.import.events = 216'000;
    pattern.import.bytes = 98'000'000;
    job.patterns.push_back(std::move(pattern));
  }
  return job;
}

SampleJob odd_job() {
  SampleJob job;
  job.names = words();
  job.names[kMatrixProduct].text = "evil\x1b[31m\nname\xff \xe2\x80\xae</script><b>";
  RankPattern pattern;
  pattern.window_ns = 2'000 * kMs;
  of(pattern.budget, TimeClass::kCompute) = 500 * kMs;
  of(pattern.budget, TimeClass::kIdle) = 1'500 * kMs;
  pattern.rank = 0;
  pattern.steps = {{0, 0, pattern.window_ns, true, false, pattern.budget, 0}};
  pattern.functions = {function(kMatrixProduct, FunctionKind::kCompute, 10, 500 * kMs, 500 * kMs),
                       function(0xabcdef, FunctionKind::kOperator, 10, 20 * kMs, 20 * kMs)};
  pattern.import.events = 20;
  pattern.import.bytes = 4'096;
  pattern.import.defects.add(Defect::kTruncated);
  pattern.import.defects.add(Defect::kRepairedEvent, 3);
  pattern.import.notes = {"the window was taken from the events"};
  job.patterns.push_back(std::move(pattern));
  return job;
}

}  // namespace eroica::testing
