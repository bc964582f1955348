#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "pattern/shapes.h"
#include "pattern/summarize.h"
#include "support/trace_builder.h"

namespace eroica {
namespace {

struct Reduced {
  RankPattern pattern;
  NameTable names;

  const FunctionPattern& function(const std::string& text) const {
    static const FunctionPattern none;
    const auto found = std::find_if(pattern.functions.begin(), pattern.functions.end(), [&](const FunctionPattern& f) {
      return names.at(f.name).text.find(text) != std::string::npos;
    });
    EXPECT_NE(found, pattern.functions.end()) << text;
    return found == pattern.functions.end() ? none : *found;
  }
};

Reduced reduce(TraceBuilder& builder, int64_t start_us, int64_t end_us) {
  builder.trace.sort();
  SummarizeInput input;
  input.window = WindowSpec{start_us * 1000, (end_us - start_us) * 1000};
  Reduced reduced;
  reduced.pattern = summarize(builder.trace, input, reduced.names);
  return reduced;
}

uint32_t launched(TraceBuilder& builder, const std::string& grid, const std::string& block) {
  Launch launch;
  launch.grid = builder.trace.names.intern(grid);
  launch.block = builder.trace.names.intern(block);
  builder.trace.launches.push_back(launch);
  return static_cast<uint32_t>(builder.trace.launches.size() - 1);
}

void step(TraceBuilder& builder, int number, int64_t start_us, int64_t duration_us) {
  builder.host(Category::kAnnotation, "ProfilerStep#" + std::to_string(number), start_us, duration_us);
}

TEST(DistinctShapes, CountsUpToItsBound) {
  DistinctShapes shapes;
  EXPECT_EQ(shapes.count(), 0u);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 63; ++i) {
      shapes.add(i * 128);  // all fall on the same place
    }
    EXPECT_EQ(shapes.count(), 63u);
  }
  for (uint64_t i = 0; i < 1000; ++i) {
    shapes.add(i);
  }
  EXPECT_EQ(shapes.count(), kMostShapes);
}

RC_GTEST_PROP(DistinctShapes, AgreeWithASet, (const std::vector<uint8_t>& hashes)) {
  DistinctShapes shapes;
  std::set<uint64_t> all;
  for (const uint8_t hash : hashes) {
    shapes.add(hash + 1);
    all.insert(hash + 1);
  }
  RC_ASSERT(shapes.count() == std::min<size_t>(all.size(), kMostShapes));
}

TEST(Work, OfOperatorsIsTheElementsOfTheirInputs) {
  TraceBuilder b;
  const uint32_t small = b.op_args("[[8, 4], [], [4]]", "[\"float\", \"Scalar\", \"float\"]");
  const uint32_t large = b.op_args("[[16, 4], [[2], [3]], [4]]", "[\"float\", \"\", \"float\"]");
  b.host(Category::kOperator, "aten::mm", 0, 10).detail = small;
  b.host(Category::kOperator, "aten::mm", 10, 10).detail = large;
  b.host(Category::kOperator, "aten::mm", 20, 10).detail = large;
  b.host(Category::kOperator, "aten::mm", 30, 10);                                   // told nothing
  b.host(Category::kOperator, "aten::mm", 500, 10).detail = b.op_args("[[7]]", "");  // outside
  b.host(Category::kAnnotation, "my region", 50, 5).detail = small;
  b.host(Category::kOperator, "aten::rand", 60, 5);
  const Reduced r = reduce(b, 0, 100);
  EXPECT_EQ(r.function("aten::mm").executions, 4u);
  EXPECT_EQ(r.function("aten::mm").work, 36 + 73 + 73);
  EXPECT_EQ(r.function("aten::mm").shapes, 2u);
  EXPECT_EQ(r.function("my region").work, 36);
  EXPECT_EQ(r.function("my region").shapes, 1u);
  EXPECT_EQ(r.function("aten::rand").work, 0);
  EXPECT_EQ(r.function("aten::rand").shapes, 0u);
}

TEST(Work, OfKernelsIsTheThreadsLaunched) {
  TraceBuilder b;
  b.kernel("gemm", 0, 10).detail = launched(b, "[8, 2, 1]", "[128, 1, 1]");
  b.kernel("gemm", 10, 10).detail = launched(b, "[4, 1, 1]", "[128, 1, 1]");
  b.kernel("gemm", 20, 10).detail = 1;
  b.kernel("plain", 30, 10);
  const Reduced r = reduce(b, 0, 100);
  EXPECT_EQ(r.function("gemm").work, 2 * 2048 + 512);
  EXPECT_EQ(r.function("gemm").shapes, 2u);
  EXPECT_EQ(r.function("plain").work, 0);
  EXPECT_EQ(r.function("plain").shapes, 0u);
}

TEST(Work, OfAStepOnAGpuIsThatOfTheKernelsThatStartInIt) {
  TraceBuilder b;
  const uint32_t threads = launched(b, "[10, 1, 1]", "[10, 1, 1]");
  step(b, 1, 0, 100);
  step(b, 2, 100, 100);
  b.kernel("gemm", 10, 20).detail = threads;
  b.kernel("gemm", 90, 20).detail = threads;  // ends in the second step
  b.kernel("gemm", 100, 20, Event::kNoId, "8").detail = threads;
  b.kernel("gemm", 150, 20).detail = threads;
  b.kernel("gemm", 180, 20).detail = threads;
  b.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 120, 20, Event::kNoId, "9").detail = threads;
  const Reduced r = reduce(b, 0, 200);
  ASSERT_EQ(r.pattern.steps.size(), 2u);
  EXPECT_EQ(r.pattern.steps[0].work, 200);
  EXPECT_EQ(r.pattern.steps[1].work, 300);
  EXPECT_EQ(r.function("gemm").work, 500);
}

TEST(Work, OfAStepOnACpuIsThatOfInnermostOperatorsOutsideTheDataloader) {
  TraceBuilder b;
  const uint32_t ten = b.op_args("[[10]]", "");
  const uint32_t hundred = b.op_args("[[100]]", "");
  step(b, 1, 0, 100);
  step(b, 2, 100, 100);
  b.host(Category::kOperator, "aten::linear", 10, 30).detail = hundred;  // calls another one that has work
  b.host(Category::kOperator, "aten::addmm", 12, 20).detail = ten;
  b.host(Category::kOperator, "aten::empty", 14, 2);  // told nothing
  b.host(Category::kOperator, "aten::relu", 50, 10).detail = ten;
  b.host(Category::kAnnotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 70, 20);
  b.host(Category::kOperator, "aten::stack", 75, 10).detail = hundred;
  b.host(Category::kOperator, "aten::relu", 95, 20).detail = ten;  // begins in the first step
  b.host(Category::kOperator, "aten::add", 150, 20).detail = hundred;
  const Reduced r = reduce(b, 0, 200);
  ASSERT_EQ(r.pattern.steps.size(), 2u);
  EXPECT_FALSE(r.pattern.gpu_job);
  EXPECT_EQ(r.pattern.steps[0].work, 30);
  EXPECT_EQ(r.pattern.steps[1].work, 100);
  EXPECT_EQ(r.function("aten::linear").work, 100) << "functions count every execution";
}

TEST(Beside, CountsKernelsThatRanAtLeastHalfBesideACollective) {
  TraceBuilder b;
  const auto collective = [&](int64_t start_us, int64_t duration_us, const std::string& stream) {
    b.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", start_us, duration_us, Event::kNoId, stream);
  };
  collective(100, 50, "20");
  collective(120, 60, "21");                     // together 100–180
  collective(300, 10, "20");                     // 300–310
  collective(320, 10, "20");                     // 320–330
  b.kernel("gemm", 0, 50);                       // before
  b.kernel("gemm", 90, 20);                      // just half
  b.kernel("gemm", 110, 30);                     // all
  b.kernel("gemm", 170, 30);                     // a third
  b.kernel("gemm", 300, 30);                     // two thirds, of two
  b.kernel("gemm", 120, 30, Event::kNoId, "8");  // on another stream
  b.kernel("gemm", 400, 30);                     // behind
  b.add(b.track("0", "9", true), Category::kMemcpy, "Memcpy HtoD", 120, 10);
  const Reduced r = reduce(b, 0, 500);
  EXPECT_EQ(r.function("gemm").executions, 7u);
  EXPECT_EQ(r.function("gemm").beside_executions, 4u);
  EXPECT_EQ(r.function("gemm").beside_ns, (20 + 30 + 30 + 30) * 1000);
  EXPECT_EQ(r.function("Memcpy").beside_executions, 0u);
  EXPECT_EQ(r.function("nccl").beside_executions, 0u);
}

RC_GTEST_PROP(Beside, AgreesWithTheSlowWay, ()) {
  struct Run {
    int64_t start_us;
    int64_t duration_us;
  };
  const auto runs = [] {
    std::vector<Run> all;
    for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
      all.push_back({*rc::gen::inRange(0, 200), *rc::gen::inRange(0, 30)});
    }
    return all;
  };
  const std::vector<Run> kernels = runs();
  const std::vector<Run> collectives = runs();
  TraceBuilder b;
  std::vector<bool> busy(300);
  for (const Run& run : collectives) {
    b.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", run.start_us, run.duration_us, Event::kNoId, "9");
    for (int64_t at = run.start_us; at < run.start_us + run.duration_us; ++at) {
      busy[static_cast<size_t>(at)] = true;
    }
  }
  uint64_t executions = 0;
  int64_t us = 0;
  for (const Run& run : kernels) {
    b.kernel("gemm", run.start_us, run.duration_us);
    const auto from = busy.begin() + run.start_us;
    const auto beside = std::count(from, from + run.duration_us, true);
    if (beside > 0 && 2 * beside >= run.duration_us) {
      ++executions;
      us += run.duration_us;
    }
  }
  b.kernel("last", 299, 1);
  const Reduced r = reduce(b, 0, 300);
  if (!kernels.empty()) {
    RC_ASSERT(r.function("gemm").beside_executions == executions);
    RC_ASSERT(r.function("gemm").beside_ns == us * 1000);
  }
}

TEST(Labels, OfTheHostStandBesideTheRanksOwn) {
  TraceBuilder b;
  b.kernel("gemm", 0, 10);
  b.trace.sort();
  SummarizeInput input;
  input.rank.labels = {{"torch", "2.9"}, {"env.A", "rank"}};
  input.host_labels = {{"driver", "550"}, {"env.A", "host"}};
  NameTable names;
  const std::map<std::string, std::string> expected{{"driver", "550"}, {"env.A", "rank"}, {"torch", "2.9"}};
  EXPECT_EQ(summarize(b.trace, input, names).labels, expected);
}

}  // namespace
}  // namespace eroica
