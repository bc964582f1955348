#include "trace/sampled_python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "support/trace_builder.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;

/// The Python functions of the main thread after samples were added, "NAME FROM-TO" in µs.
std::vector<std::string> merged(TraceBuilder& trace, TraceBuilder& sampled) {
  trace.trace.sort();
  sampled.trace.sort();
  EXPECT_TRUE(add_sampled_python(trace.trace, sampled.trace));
  std::vector<std::string> found;
  for (const Event& event : trace.trace.tracks[0].events) {
    if (event.category != Category::kPython) continue;
    found.push_back(std::string(trace.trace.names.text(event.name)) + " " + std::to_string(event.start_ns / 1000) +
                    "-" + std::to_string(event.end_ns() / 1000));
  }
  return found;
}

TEST(SampledPython, StandsOnTheTracesClock) {
  TraceBuilder b;
  b.trace.base_unix_ns = 5'000'000;
  b.host(Category::kOperator, "aten::mm", 0, 10);
  TraceBuilder s;
  s.trace.base_unix_ns = 5'100'000;
  s.python("a.py(1): f", 0, 50);
  s.python("a.py(9): g", 20, 10);
  EXPECT_THAT(merged(b, s), ElementsAre("a.py(1): f 100-150", "a.py(9): g 120-130"));
  EXPECT_EQ(b.trace.category_count[static_cast<size_t>(Category::kPython)], 2U);
  const Event& inner = b.trace.tracks[0].events[2];
  EXPECT_EQ(inner.link, b.trace.tracks[0].events[1].id) << "they know their callers";
}

TEST(SampledPython, BeginsBehindAndEndsBeforeWhatItSeemsToCut) {
  TraceBuilder b;
  b.host(Category::kOperator, "aten::mm", 90, 20);    // a sample came amid it: f called it, or was called behind it
  b.host(Category::kOperator, "aten::add", 490, 20);  // and amid this one
  TraceBuilder s;
  s.python("a.py(1): f", 100, 400);
  s.python("a.py(9): g", 100, 200);
  EXPECT_THAT(merged(b, s), ElementsAre("a.py(1): f 110-490", "a.py(9): g 110-300"));
}

TEST(SampledPython, WhatIsMostlyInsideStaysInside) {
  TraceBuilder b;
  b.host(Category::kAnnotation, "enumerate(DataLoader)#X.__next__", 0, 100);
  TraceBuilder s;
  s.python("data.py(1): fetch", 20, 90);
  EXPECT_THAT(merged(b, s), ElementsAre("data.py(1): fetch 20-100"));
}

TEST(SampledPython, IsNotAddedWhereItDoesNotBelong) {
  TraceBuilder s;
  s.python("a.py(1): f", 0, 10);
  TraceBuilder with_stacks;
  with_stacks.python("a.py(1): f", 0, 10);
  EXPECT_FALSE(add_sampled_python(with_stacks.trace, s.trace));
  TraceBuilder threads;
  threads.host(Category::kOperator, "aten::mm", 0, 10, "101");
  EXPECT_FALSE(add_sampled_python(threads.trace, s.trace));
}

RC_GTEST_PROP(SampledPython, StaysNestedWhateverTheThreadDid, ()) {
  TraceBuilder b;
  TraceBuilder s;
  const auto time = rc::gen::inRange<int64_t>(0, 200);
  b.host(Category::kOperator, "op", 0, 1);
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) b.host(Category::kOperator, "op", *time, *time);
  int64_t from = 0;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    const int64_t length = *rc::gen::inRange<int64_t>(1, 40);
    s.python("outer", from, length);
    s.python("inner", from + length / 3, length / 2);
    from += length;
  }
  b.trace.sort();
  s.trace.sort();
  RC_ASSERT(add_sampled_python(b.trace, s.trace));
  int64_t outer_end_ns = 0;
  for (const Event& event : b.trace.tracks[0].events) {
    if (event.category != Category::kPython) continue;
    RC_ASSERT(event.duration_ns > 0);
    if (b.trace.names.text(event.name) == "outer") {
      RC_ASSERT(event.start_ns >= outer_end_ns);
      outer_end_ns = event.end_ns();
    } else {
      RC_ASSERT(event.end_ns() <= outer_end_ns);
    }
  }
}

}  // namespace
}  // namespace eroica
