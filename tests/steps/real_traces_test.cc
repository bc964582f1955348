#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "steps/marks.h"
#include "trace/bundle.h"
#include "trace/kineto_reader.h"

namespace eroica {
namespace {

constexpr int64_t kMs = 1'000'000;

std::string shared_data(const std::string& path) {
  const char* folder = std::getenv("EROICA_SHARED");
  const std::string root = folder != nullptr && *folder != '\0' ? folder : EROICA_SOURCE_DIR "/../shared";
  return root + "/data/" + path;
}

/// A window from the first event's start to the last event's.
StepOptions whole_window(const Trace& trace) {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
  for (const Track& track : trace.tracks) {
    if (track.events.empty()) continue;
    first_ns = std::min(first_ns, track.events[0].start_ns);
    last_ns = std::max(last_ns, track.events[track.events.size() - 1].start_ns);
  }
  return {.window_start_ns = first_ns, .window_end_ns = last_ns};
}

Trace read(const std::string& path) {
  auto file = open_file(shared_data(path));
  EXPECT_TRUE(file.ok()) << path;
  auto trace = read_kineto(std::move(*file));
  EXPECT_TRUE(trace.ok()) << path;
  return std::move(*trace);
}

Steps steps_in(const std::string& path) {
  const Trace trace = read(path);
  return find_steps(extract_marks(trace, ""), whole_window(trace));
}

std::vector<Step> whole(const Steps& steps) {
  std::vector<Step> result = steps.steps;
  std::erase_if(result, [](const Step& step) { return !step.complete || step.irregular; });
  return result;
}

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(shared_data(path))) GTEST_SKIP() << shared_data(path) << " is not there"

TEST(RealTraces, HealthyJobOnGloo) {
  SKIP_WITHOUT("incidents/healthy-1");
  size_t counts[4];
  for (int rank = 0; rank < 4; ++rank) {
    const Trace trace = read("incidents/healthy-1/rank" + std::to_string(rank) + ".json.gz");
    StepOptions window;
    window.window_start_ns = 1795958760511 * kMs - trace.base_unix_ns;
    window.window_end_ns = window.window_start_ns + 3000 * kMs;
    const Steps steps = find_steps(extract_marks(trace, ""), window);
    EXPECT_EQ(steps.source, StepSource::kSequence);
    EXPECT_EQ(steps.steps.front().start_ns, window.window_start_ns);
    EXPECT_EQ(steps.steps.back().end_ns, window.window_end_ns);
    for (const Step& step : whole(steps)) {
      EXPECT_EQ(step.fetches, 1U);
      EXPECT_EQ(step.optimizer_steps, 1U);
      EXPECT_GT(step.end_ns - step.start_ns, 55 * kMs);
      EXPECT_LT(step.end_ns - step.start_ns, 110 * kMs);
    }
    counts[rank] = whole(steps).size();
    EXPECT_GE(counts[rank], 40U);
    EXPECT_LE(counts[rank], 42U);
  }
}

/// The job's own record: one list of seconds a rank, as `"step_seconds": [[0.1, …], …]`.
std::vector<double> recorded_seconds(const std::string& path, int rank) {
  std::ifstream file(shared_data(path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t at = text.find("step_seconds");
  for (int list = 0; list <= rank + 1; ++list) at = text.find('[', at) + 1;
  std::istringstream list(text.substr(at, text.find(']', at) - at));
  std::vector<double> seconds;
  std::string number;
  while (std::getline(list, number, ',')) seconds.push_back(std::stod(number));
  return seconds;
}

TEST(RealTraces, StepsLastAsLongAsTheJobItselfMeasured) {
  SKIP_WITHOUT("incidents/healthy-1/steps.json");
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<double> recorded = recorded_seconds("incidents/healthy-1/steps.json", rank);
    const std::vector<Step> steps = whole(steps_in("incidents/healthy-1/rank" + std::to_string(rank) + ".json.gz"));
    ASSERT_GT(recorded.size(), steps.size());
    // Which part of the record the window is: where the durations fit best.
    double best_ms = std::numeric_limits<double>::max();
    for (size_t from = 0; from + steps.size() <= recorded.size(); ++from) {
      double sum_ms = 0;
      for (size_t i = 0; i < steps.size(); ++i) {
        const double step_ms = static_cast<double>(steps[i].end_ns - steps[i].start_ns) / 1e6;
        sum_ms += std::abs(step_ms - recorded[from + i] * 1e3);
      }
      best_ms = std::min(best_ms, sum_ms / static_cast<double>(steps.size()));
    }
    EXPECT_LT(best_ms, 0.5) << rank;  // of about 72 ms a step
  }
}

TEST(RealTraces, MegatronFetchesOncePerMicroBatch) {
  SKIP_WITHOUT("megatron-cpu");
  for (const char* job : {"slow_python", "heavy_last_stage"}) {
    for (int rank = 0; rank < 8; ++rank) {
      const Steps steps = steps_in("megatron-cpu/" + std::string(job) + "/rank" + std::to_string(rank) + ".json.zst");
      EXPECT_EQ(steps.source, StepSource::kSequence);
      EXPECT_GE(whole(steps).size(), 2U) << job << rank;
      EXPECT_LE(whole(steps).size(), 3U) << job << rank;
      for (const Step& step : whole(steps)) EXPECT_EQ(step.fetches, 4U) << job << rank;
    }
  }
}

TEST(RealTraces, TheProfilersStepsWithNumbers) {
  SKIP_WITHOUT("traces/pair-of-128");
  const Steps pair = steps_in("traces/pair-of-128/sampled_rank-0.json.gz");
  EXPECT_EQ(pair.source, StepSource::kProfilerStep);
  ASSERT_EQ(pair.steps.size(), 2U);
  EXPECT_EQ(pair.steps[0].number + 1, pair.steps[1].number);
  EXPECT_EQ(pair.steps[0].optimizer_steps, 2U);

  for (const char* workers : {"workers0", "workers4"}) {
    const Steps old = steps_in("traces/dataloader-ab/" + std::string(workers) + ".json.gz");
    EXPECT_EQ(old.source, StepSource::kProfilerStep);
    EXPECT_EQ(old.steps.size(), 6U);
    for (const Step& step : whole(old)) {
      EXPECT_EQ(step.fetches, 1U);
      EXPECT_EQ(step.optimizer_steps, 1U);
      EXPECT_GT(step.end_ns - step.start_ns, 110 * kMs);
      EXPECT_LT(step.end_ns - step.start_ns, 190 * kMs);
    }
  }

  const Steps one = steps_in("traces/no-rank/distributed_info_not_found.json.gz");
  EXPECT_EQ(one.source, StepSource::kProfilerStep);
  EXPECT_EQ(one.steps.size(), 1U);
}

TEST(RealTraces, TheSequenceAgreesWithTheProfilersSteps) {
  SKIP_WITHOUT("traces/dataloader-ab");
  for (const char* path : {"traces/dataloader-ab/workers0.json.gz", "traces/cuda-v100-ddp-large/rank1.json.gz",
                           "traces/gloo-cpu/rank34.json.gz", "traces/pair-of-128/sampled_rank-1.json.gz"}) {
    const Trace trace = read(path);
    Marks marks = extract_marks(trace, "");
    const Steps by_profiler = find_steps(marks, whole_window(trace));
    std::erase_if(marks.marks, [](const Mark& mark) { return mark.kind == MarkKind::kStep; });
    const Steps by_sequence = find_steps(marks, whole_window(trace));
    EXPECT_EQ(by_sequence.source, StepSource::kSequence) << path;
    // A step by sequence ends inside the profiler's step, shortly before its end.
    size_t matched = 0;
    for (const Step& step : whole(by_sequence)) {
      matched += static_cast<size_t>(std::ranges::count_if(by_profiler.steps, [&](const Step& profiled) {
        const int64_t duration_ns = profiled.end_ns - profiled.start_ns;
        return step.end_ns <= profiled.end_ns && step.end_ns > profiled.start_ns + duration_ns / 2;
      }));
    }
    EXPECT_EQ(matched, whole(by_sequence).size()) << path;
    EXPECT_EQ(matched, by_profiler.steps.size() - 1) << path << ": " << by_sequence.note;
  }
}

TEST(RealTraces, WithoutMarksTheWindowIsOneStep) {
  SKIP_WITHOUT("traces/mtia");
  EXPECT_EQ(steps_in("traces/mtia/mtia_inference_rank_0.json.gz").source, StepSource::kWindow);
}

}  // namespace
}  // namespace eroica
