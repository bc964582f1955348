// The critical path against a slow, obvious reading of its definition: unit of time by unit of time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "pattern/summarize.h"
#include "support/trace_builder.h"

namespace eroica {
namespace {

constexpr int64_t kWindowUs = 120;

struct Made {
  Category category;
  std::string name;
  int64_t start_us;
  int64_t duration_us;
  std::string thread;  // "100", "200"; device: stream
  bool device;
};

// Calls nest: children lie strictly within their parent and beside each other.
void make_calls(std::mt19937& random, std::vector<Made>& out, const std::string& thread, int64_t from, int64_t to,
                int depth) {
  struct Name {
    Category category;
    const char* text;
  };
  static const std::vector<Name> kMain = {{Category::kPython, "train.py(5): f"},
                                          {Category::kPython, "train.py(9): g"},
                                          {Category::kOperator, "aten::mm"},
                                          {Category::kOperator, "c10d::allreduce_"},
                                          {Category::kRuntime, "cudaLaunchKernel"},
                                          {Category::kRuntime, "cudaStreamSynchronize"},
                                          {Category::kAnnotation, "enumerate(DataLoader)#_Iter.__next__"}};
  int64_t at = from;
  while (at + 3 < to) {
    const int64_t start = at + static_cast<int64_t>(random() % 6);
    const int64_t length = 2 + static_cast<int64_t>(random() % 30);
    if (start + length > to) {
      return;
    }
    // Only the main thread fetches data.
    const Name& name = kMain[random() % (kMain.size() - (thread == "100" ? 0 : 1))];
    out.push_back({name.category, name.text, start, length, thread, false});
    if (depth < 3) {
      make_calls(random, out, thread, start + 1, start + length - 1, depth + 1);
    }
    at = start + length + 1 + static_cast<int64_t>(random() % 4);
  }
}

std::vector<Made> make_trace(std::mt19937& random, bool gpu) {
  std::vector<Made> events;
  events.push_back({Category::kPython, "train.py(1): main", 0, kWindowUs - 10, "100", false});
  make_calls(random, events, "100", 1, kWindowUs - 12, 0);
  make_calls(random, events, "200", 0, kWindowUs, 1);
  // A single launch makes the second thread one that does the job's work on GPU jobs.
  events.push_back({gpu ? Category::kRuntime : Category::kOperator, gpu ? "cudaLaunchKernel" : "aten::mm", kWindowUs, 1,
                    "200", false});
  const auto span = [&](int64_t longest) {
    return std::pair<int64_t, int64_t>(static_cast<int64_t>(random() % kWindowUs),
                                       1 + static_cast<int64_t>(random() % static_cast<uint64_t>(longest)));
  };
  for (size_t i = 0; i < random() % 6; ++i) {
    const auto [start, length] = span(25);
    events.push_back({Category::kAnnotation, "gloo:all_reduce", start, length, i % 2 == 0 ? "301" : "302", false});
  }
  for (size_t i = 0; gpu && i < 1 + random() % 10; ++i) {
    const auto [start, length] = span(15);
    const size_t what = random() % 3;
    events.push_back({what == 1 ? Category::kMemcpy : Category::kKernel,
                      what == 0   ? "gemm"
                      : what == 1 ? "Memcpy HtoD"
                                  : "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
                      start, length, std::to_string(7 + what + 3 * (i % 2)), true});
  }
  return events;
}

const Made* innermost(const std::vector<Made>& events, const std::string& thread, int64_t t) {
  const Made* found = nullptr;
  for (const Made& event : events) {
    const bool active = !event.device && event.thread == thread && event.start_us <= t &&
                        t < event.start_us + event.duration_us && !event.name.starts_with("gloo:");
    if (active && (found == nullptr || event.start_us > found->start_us)) {
      found = &event;
    }
  }
  return found;
}

bool any_active(const std::vector<Made>& events, int64_t t, const std::function<bool(const Made&)>& wanted) {
  return std::any_of(events.begin(), events.end(), [&](const Made& event) {
    return event.start_us <= t && t < event.start_us + event.duration_us && wanted(event);
  });
}

bool works(const Made* call) {
  return call != nullptr && ((call->category == Category::kOperator && !call->name.starts_with("c10d::")) ||
                             call->category == Category::kRuntime);
}

TimeClass expected_class(const std::vector<Made>& events, bool gpu, int64_t t) {
  const auto device = [&](std::string_view prefix) {
    return any_active(events, t, [&](const Made& e) { return e.device && e.name.starts_with(prefix); });
  };
  if (device("gemm")) {
    return TimeClass::kCompute;
  }
  if (device("Memcpy")) {
    return TimeClass::kMemory;
  }
  if (device("nccl")) {
    return TimeClass::kCommunication;
  }
  const auto work_class = [&](const Made* call) {
    return call->name == "cudaStreamSynchronize" ? TimeClass::kSync : gpu ? TimeClass::kLaunch : TimeClass::kCompute;
  };
  const Made* other = innermost(events, "200", t);
  if (works(other)) {
    return work_class(other);
  }
  const Made* main = innermost(events, "100", t);
  const bool fetching = any_active(events, t, [](const Made& e) { return e.name.starts_with("enumerate("); });
  if (works(main)) {
    return fetching ? TimeClass::kDataloader : work_class(main);
  }
  if (any_active(events, t, [](const Made& e) { return e.name.starts_with("gloo:"); })) {
    return TimeClass::kCommunication;
  }
  if (fetching) {
    return TimeClass::kDataloader;
  }
  return main == nullptr                    ? TimeClass::kIdle
         : main->name.starts_with("c10d::") ? TimeClass::kLaunch
                                            : TimeClass::kPython;
}

RankPattern reduce(const std::vector<Made>& events, NameTable& names) {
  TraceBuilder builder;
  for (const Made& event : events) {
    const uint32_t track =
        event.device ? builder.track("0", event.thread, true) : builder.track("100", event.thread, false);
    builder.add(track, event.category, event.name, event.start_us, event.duration_us);
  }
  builder.trace.sort();
  SummarizeInput input;
  input.window = WindowSpec{0, kWindowUs * 1000};
  return summarize(builder.trace, input, names);
}

RC_GTEST_PROP(CriticalPath, EveryInstantBelongsToTheClassThatItsDefinitionSays, (bool gpu)) {
  std::mt19937 random(*rc::gen::arbitrary<uint32_t>());
  const std::vector<Made> events = make_trace(random, gpu);
  Budget expected{};
  for (int64_t t = 0; t < kWindowUs; ++t) {
    expected[static_cast<size_t>(expected_class(events, gpu, t))] += 1000;
  }
  NameTable names;
  const RankPattern pattern = reduce(events, names);
  RC_ASSERT(pattern.gpu_job == gpu);
  for (size_t c = 0; c < kTimeClassCount; ++c) {
    RC_LOG() << time_class_name(static_cast<TimeClass>(c)) << " " << pattern.budget[c] << " expected " << expected[c]
             << "\n";
  }
  RC_ASSERT(pattern.budget == expected);
  int64_t explained = 0;
  for (const FunctionPattern& function : pattern.functions) {
    explained += function.exposed_ns;
  }
  RC_ASSERT(explained == kWindowUs * 1000 - pattern.budget[static_cast<size_t>(TimeClass::kIdle)]);
}

RC_GTEST_PROP(CriticalPath, AnyOrderOfEventsGivesTheSamePattern, (bool gpu)) {
  std::mt19937 random(*rc::gen::arbitrary<uint32_t>());
  std::vector<Made> events = make_trace(random, gpu);
  NameTable names;
  const RankPattern pattern = reduce(events, names);
  std::shuffle(events.begin(), events.end(), random);
  NameTable other_names;
  const RankPattern other = reduce(events, other_names);
  RC_ASSERT(other.budget == pattern.budget);
  RC_ASSERT(other.functions == pattern.functions);
  RC_ASSERT(other.steps == pattern.steps);
  RC_ASSERT(other.collectives == pattern.collectives);
  RC_ASSERT(other.instances == pattern.instances);
  RC_ASSERT(other_names == names);
}

}  // namespace
}  // namespace eroica
