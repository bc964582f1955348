#include "pattern/summarize.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/trace_builder.h"

namespace eroica {
namespace {

int64_t of(const Budget& budget, TimeClass time_class) { return budget[static_cast<size_t>(time_class)] / 1000; }

int64_t sum(const Budget& budget) {
  int64_t total = 0;
  for (const int64_t ns : budget) {
    total += ns;
  }
  return total;
}

struct Reduced {
  RankPattern pattern;
  NameTable names;

  const FunctionPattern* find(const std::string& text) const {
    const auto found = std::find_if(pattern.functions.begin(), pattern.functions.end(), [&](const FunctionPattern& f) {
      return names.at(f.name).text.find(text) != std::string::npos;
    });
    return found == pattern.functions.end() ? nullptr : &*found;
  }
};

Reduced reduce(TraceBuilder& builder, const SummarizeInput& input = {}) {
  builder.trace.sort();
  Reduced reduced;
  reduced.pattern = summarize(builder.trace, input, reduced.names);
  return reduced;
}

SummarizeInput window_us(int64_t start, int64_t end) {
  SummarizeInput input;
  input.window = WindowSpec{start * 1000, (end - start) * 1000};
  return input;
}

TEST(Summarize, GpuTimeGoesByPriority) {
  TraceBuilder b;
  b.kernel("gemm", 10, 20);                                                           // compute 10–30
  b.add(b.track("0", "8", true), Category::kMemcpy, "Memcpy HtoD", 20, 20);           // exposed 30–40
  b.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 25, 25, Event::kNoId, "9");  // exposed 40–50
  b.host(Category::kPython, "train.py(5): main", 0, 100);
  const Reduced r = reduce(b, window_us(0, 100));
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCompute), 20);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kMemory), 10);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCommunication), 10);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kPython), 60);
  EXPECT_EQ(sum(r.pattern.budget), 100'000);
  ASSERT_EQ(r.pattern.collectives.size(), 1U);
  EXPECT_EQ(r.pattern.collectives[0].kind, "all_reduce");
  EXPECT_EQ(r.pattern.collectives[0].total_ns, 25'000);
  EXPECT_EQ(r.pattern.collectives[0].exposed_ns, 10'000);
  EXPECT_TRUE(r.pattern.gpu_job);
}

TEST(Summarize, GpuIdleIsSplitByWhatTheLaunchingThreadDid) {
  TraceBuilder b;
  b.kernel("gemm", 50, 10, 1);
  b.python("train.py(5): main", 0, 100);
  b.host(Category::kOperator, "aten::mm", 10, 10);  // launch 10–20, less the call inside
  b.launch(12, 4, 1);
  b.host(Category::kRuntime, "cudaStreamSynchronize", 40, 30);  // sync outside the kernel: 40–50, 60–70
  b.host(Category::kAnnotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 80, 10);
  const Reduced r = reduce(b, window_us(0, 100));
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kLaunch), 10);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kSync), 20);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kDataloader), 10);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCompute), 10);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kPython), 50);
  EXPECT_EQ(r.find("aten::mm")->self_ns, 6'000);
  EXPECT_EQ(r.find("aten::mm")->total_ns, 10'000);
  EXPECT_EQ(r.find("aten::mm")->exposed_ns, 6'000);
  EXPECT_EQ(r.find("cudaLaunchKernel")->exposed_ns, 4'000);
}

TEST(Summarize, AutogradsThreadLaunchesWhileTheMainThreadWaits) {
  TraceBuilder b;
  b.kernel("gemm", 60, 10, 1);
  b.python("train.py(5): main", 0, 100);
  b.host(Category::kOperator, "autograd::engine::evaluate_function: MmBackward0", 20, 20, "200");
  b.launch(25, 5, 1, "200");
  b.host(Category::kAnnotation, "Optimizer.step#SGD.step", 90, 5);
  const Reduced r = reduce(b, window_us(0, 100));
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kLaunch), 20);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kPython), 70);
}

TEST(Summarize, OnCpuJobsOperatorsAreTheComputeAndGlooRunsBesideThem) {
  TraceBuilder b;
  b.python("train.py(5): main", 0, 100);
  b.host(Category::kOperator, "aten::mm", 10, 30);
  Event& a = b.host(Category::kAnnotation, "gloo:all_reduce", 30, 40, "201");
  a.detail = b.op_args("[[1000]]", "[\"float\"]");
  Event& c = b.host(Category::kAnnotation, "gloo:all_reduce", 50, 40, "202");  // overlaps without nesting
  c.detail = a.detail;
  const Reduced r = reduce(b, window_us(0, 100));
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCompute), 30);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCommunication), 50);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kPython), 20);
  ASSERT_EQ(r.pattern.collectives.size(), 1U);
  EXPECT_EQ(r.pattern.collectives[0].total_ns, 60'000) << "a union, not a sum";
  EXPECT_EQ(r.pattern.collectives[0].bytes, 8000);
  EXPECT_EQ(r.pattern.collectives[0].count, 2U);
  EXPECT_FALSE(r.pattern.gpu_job);
}

TEST(Summarize, OperatorsInsideAFetchAreInputWork) {
  TraceBuilder b;
  b.python("train.py(5): main", 0, 100);
  b.host(Category::kAnnotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10, 40);
  b.python("train.py(30): augment", 12, 20);
  b.host(Category::kOperator, "aten::stack", 35, 10);
  const Reduced r = reduce(b, window_us(0, 100));
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kDataloader), 40);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCompute), 0);
  EXPECT_EQ(r.find("augment")->exposed_ns, 20'000);
  EXPECT_EQ(r.find("augment")->line, 30);
}

TEST(Summarize, EventsAreClippedToTheWindow) {
  TraceBuilder b;
  b.kernel("before", 0, 10);
  b.kernel("across", 15, 10);
  b.kernel("after", 90, 10);
  const Reduced r = reduce(b, window_us(20, 80));
  EXPECT_EQ(r.pattern.window_ns, 60'000);
  EXPECT_EQ(r.find("before"), nullptr);
  EXPECT_EQ(r.find("after"), nullptr);
  EXPECT_EQ(r.find("across")->total_ns, 5'000);
}

TEST(Summarize, WithoutAWindowItReachesFromFirstToLastStart) {
  TraceBuilder b;
  b.kernel("a", 5, 10);
  b.kernel("b", 40, 100);
  b.host(Category::kTraceSpan, "PyTorch Profiler (0)", 0, 500);
  const Reduced r = reduce(b);
  EXPECT_EQ(r.pattern.window_ns, 35'000);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCompute), 10);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kIdle), 25);
}

TEST(Summarize, AWindowElsewhereIsNotUsed) {
  TraceBuilder b;
  b.kernel("a", 5, 10);
  b.kernel("b", 40, 10);
  const Reduced r = reduce(b, window_us(100'000, 200'000));
  EXPECT_EQ(r.pattern.window_ns, 35'000);
  EXPECT_EQ(r.pattern.import.notes.size(), 1U);
}

TEST(Summarize, KernelsKnowTheLineOfUserCodeThatIssuedThem) {
  TraceBuilder b;
  b.python("train.py(5): main", 0, 100, 1);
  b.python("model.py(17): forward", 10, 30, 2, 1);
  b.python("torch/nn/modules/linear.py(130): forward", 12, 20, 3, 2);
  Event& forward = b.host(Category::kOperator, "aten::addmm", 15, 10);
  forward.link = 77;  // autograd sequence number
  b.launch(16, 2, 1);
  Event& backward = b.host(Category::kOperator, "autograd::engine::evaluate_function: AddmmBackward0", 60, 10, "200");
  backward.link = 77;
  b.launch(62, 2, 2, "200");
  b.kernel("gemm_forward", 30, 10, 1);
  b.kernel("gemm_backward", 70, 10, 2);
  const Reduced r = reduce(b, window_us(0, 100));
  for (const char* kernel : {"gemm_forward", "gemm_backward"}) {
    const FunctionPattern* function = r.find(kernel);
    ASSERT_NE(function, nullptr);
    ASSERT_EQ(function->issuers.size(), 1U) << kernel;
    EXPECT_EQ(function->issuers[0].line, 17);
    EXPECT_EQ(function->issuers[0].ns, 10'000);
    EXPECT_NE(r.names.at(function->issuers[0].name).file.find("model.py"), std::string::npos);
  }
}

TEST(Summarize, WithoutLaunchesTheExternalIdTells) {
  TraceBuilder b;
  b.python("train.py(5): main", 0, 100, 1);
  b.python("train.py(40): step", 12, 50, 2, 1);
  b.host(Category::kOperator, "aten::mm", 15, 10).id = 901;
  b.kernel("gemm", 30, 10, 5).link = 901;
  const Reduced r = reduce(b, window_us(0, 100));
  ASSERT_EQ(r.find("gemm")->issuers.size(), 1U);
  EXPECT_EQ(r.find("gemm")->issuers[0].line, 40);
}

TEST(Summarize, HostCollectivesKnowWhoIssuedThem) {
  TraceBuilder b;
  b.python("train.py(5): main", 0, 100);
  b.python("train.py(70): train_step", 10, 20);
  b.host(Category::kOperator, "c10d::allreduce_", 12, 2);
  b.host(Category::kAnnotation, "gloo:all_reduce", 20, 40, "201");
  const Reduced r = reduce(b, window_us(0, 100));
  ASSERT_EQ(r.find("gloo:all_reduce")->issuers.size(), 1U);
  EXPECT_EQ(r.find("gloo:all_reduce")->issuers[0].line, 70);
}

TEST(Summarize, CollectivesKnowGroupSizeAndSequence) {
  TraceBuilder b;
  Event& with_args = b.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 10, 10, 1);
  Launch launch;
  launch.collective = b.collective("allreduce", "BFloat16", 1000, "0", "[0, 1]", 42);
  b.trace.launches.push_back(launch);
  with_args.detail = 1;
  // RCCL's kernels carry nothing: the operator that launched them tells.
  OpArgs said;
  said.collective = b.collective("_allgather_base", "BFloat16", 500, "3", "[0, 1, 2, 3]", -1);
  b.trace.op_args.push_back(said);
  b.host(Category::kOperator, "record_param_comms", 30, 10).detail = 1;
  b.launch(32, 2, 2);
  b.kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 40, 10, 2);
  const Reduced r = reduce(b, window_us(0, 100));
  ASSERT_EQ(r.pattern.collectives.size(), 2U);
  EXPECT_EQ(r.pattern.collectives[0].kind, "all_reduce");
  EXPECT_EQ(r.pattern.collectives[0].bytes, 2000);
  EXPECT_EQ(r.pattern.groups[r.pattern.collectives[0].group].name, "0");
  EXPECT_EQ(r.pattern.instances[0].sequence, 42);
  EXPECT_EQ(r.pattern.collectives[1].kind, "all_gather");
  EXPECT_EQ(r.pattern.groups[r.pattern.collectives[1].group].ranks.size(), 4U);
}

TEST(Summarize, PointToPointKnowsItsPeers) {
  TraceBuilder b;
  b.python("train.py(5): main", 0, 100);
  b.host(Category::kOperator, "c10d::send", 10, 2).detail =
      b.op_args("[[[8]]]", "[\"TensorList\"]", R"(["", "", "5", "0"])");
  Event& wait = b.host(Category::kAnnotation, "gloo:send", 12, 20);
  wait.detail = b.op_args("[[8]]", "[\"float\"]");
  b.host(Category::kAnnotation, "gloo:recv", 20, 20);  // overlaps the send on the same thread
  const Reduced r = reduce(b, window_us(0, 100));
  ASSERT_EQ(r.pattern.instances.size(), 2U);
  EXPECT_EQ(r.pattern.instances[0].peer, 5);
  EXPECT_EQ(r.pattern.instances[1].peer, -1);
  EXPECT_EQ(of(r.pattern.budget, TimeClass::kCommunication), 28);
}

TEST(Summarize, PythonFramesFollowTheirParentIds) {
  TraceBuilder b;
  // Rounded to whole µs the first call ends after the second began.
  b.python("train.py(1): main", 0, 100, 1);
  b.python("train.py(10): first", 10, 11, 2, 1);
  b.python("train.py(20): second", 20, 10, 3, 1);
  const Reduced r = reduce(b, window_us(0, 100));
  const FunctionPattern* second = r.find("second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(r.names.at(second->name).path.size(), 1U) << "called by main, not by first";
  EXPECT_EQ(second->total_ns, 10'000);
  EXPECT_EQ(r.find("first")->total_ns, 10'000);
}

TEST(Summarize, StepsCarryTheirShareAndTheirFetchTime) {
  TraceBuilder b;
  b.python("train.py(1): main", 0, 300);
  for (int step = 0; step < 3; ++step) {
    b.host(Category::kAnnotation, "ProfilerStep#" + std::to_string(4 + step), step * 100, 100);
    b.host(Category::kAnnotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", step * 100 + 10, 20);
    b.host(Category::kOperator, "aten::mm", step * 100 + 40, 30 + step);
  }
  const Reduced r = reduce(b, window_us(0, 300));
  ASSERT_EQ(r.pattern.steps.size(), 3U);
  EXPECT_EQ(r.pattern.step_source, StepSource::kProfilerStep);
  EXPECT_EQ(r.pattern.steps[2].number, 6);
  for (int step = 0; step < 3; ++step) {
    const StepPattern& s = r.pattern.steps[static_cast<size_t>(step)];
    EXPECT_EQ(s.fetch_ns, 20'000);
    EXPECT_EQ(of(s.budget, TimeClass::kCompute), 30 + step);
    EXPECT_EQ(sum(s.budget), 100'000);
  }
  EXPECT_EQ(r.find("aten::mm")->step_exposed_us, (std::vector<uint32_t>{30, 31, 32}));
}

TEST(Summarize, HardwareIsTakenWhereTheFunctionWasCritical) {
  TraceBuilder b;
  b.kernel("gemm", 100, 100);
  b.kernel("tail", 900, 1);
  SampleSet samples;
  SampleSeries clock{"host a/gpu 0", "gpu.sm_clock", "hz", {}};
  for (int t = 0; t < 100; ++t) {
    clock.samples.push_back({t * 10'000, t < 25 ? 1000.0 : 2000.0});
  }
  samples.series.push_back(clock);
  SummarizeInput input = window_us(0, 1000);
  input.rank.host = "a";
  input.rank.gpu = 0;
  input.samples = &samples;
  const Reduced r = reduce(b, input);
  const FunctionPattern* gemm = r.find("gemm");
  ASSERT_EQ(gemm->hardware.size(), 1U);
  EXPECT_EQ(gemm->hardware[0].metric, "gpu.sm_clock");
  EXPECT_NEAR(gemm->hardware[0].mean, 1000, 1e-6);
}

TEST(Summarize, FramesThatWereOpenWhenTheTraceBeganTellNoLine) {
  TraceBuilder b;
  b.python("train.py(98): train", 0, 100, 1);  // the line where it stood
  b.python("train.py(50): step", 2, 10, 2, 1);
  b.python("train.py(40): step", 50, 40, 3, 1);  // a call seen from its start tells the definition's line
  const Reduced r = reduce(b, window_us(0, 100));
  EXPECT_EQ(r.find("train")->line, 0);
  EXPECT_EQ(r.find("step")->line, 40);
}

TEST(Summarize, WhatRunsOnBehindTheWindowIsTold) {
  TraceBuilder b;
  b.kernel("a", 0, 10);
  b.kernel("hang", 90, 5'000);
  const Reduced r = reduce(b);
  ASSERT_EQ(r.pattern.import.notes.size(), 1U);
  EXPECT_NE(r.pattern.import.notes[0].find("hang goes on for 5.0 ms"), std::string::npos);
}

TEST(Summarize, AStepMarkerThatNothingBearsIsTold) {
  TraceBuilder b;
  b.python("train.py(98): train", 0, 100, 1);
  SummarizeInput input = window_us(0, 100);
  input.step_marker = "nope";
  const Reduced r = reduce(b, input);
  ASSERT_EQ(r.pattern.import.notes.size(), 1U);
  EXPECT_NE(r.pattern.import.notes[0].find("'nope'"), std::string::npos);
}

TEST(Summarize, DeepHostileNestingIsBounded) {
  TraceBuilder b;
  for (int i = 0; i < 20'000; ++i) {
    b.python("f.py(1): f" + std::to_string(i % 50), i, 100'000 - 2 * i, static_cast<uint32_t>(i + 1), 999'999);
  }
  const Reduced r = reduce(b, window_us(0, 100'000));
  EXPECT_EQ(sum(r.pattern.budget), 100'000'000);
}

TEST(SummarizeSamples, ARankWithoutATraceHasItsGroups) {
  SummarizeInput input;
  input.rank.rank = 2;
  input.groups = {{"dp", "DATA_PARALLEL_GROUP", {2, 3}, 2}, {"pp", "PIPELINE_MODEL_PARALLEL_GROUP", {0, 1}, 2}};
  const RankPattern pattern = summarize_samples(input, {0, 1'000'000});
  ASSERT_EQ(pattern.groups.size(), 1U);
  EXPECT_EQ(pattern.groups[0].name, "dp");
  EXPECT_FALSE(is_observed(pattern));
}

}  // namespace
}  // namespace eroica
