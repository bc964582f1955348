#include "trace/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "trace/bundle.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

SampleFile read(const std::string& text) {
  Result<SampleFile> file = read_samples(memory_source(text));
  if (!file.ok()) {
    ADD_FAILURE() << file.error().message;
    return {};
  }
  return std::move(*file);
}

TEST(ReadSamples, CountersBecomeSeries) {
  const std::string text = R"({"baseTimeNanoseconds": 1000000000, "traceEvents": [
    {"ph": "C", "cat": "hardware_counters", "name": "cpu.run", "pid": "rank 0", "tid": 0, "ts": 20.5, "args": {"cores": 0.25}},
    {"ph": "C", "cat": "hardware_counters", "name": "cpu.allowed", "pid": "rank 0", "tid": 0, "ts": 10, "args": {"count": 2}},
    {"ph": "C", "cat": "hardware_counters", "name": "cpu.run", "pid": "rank 0", "tid": 0, "ts": 10.5, "args": {"cores": 0.5}}]})";
  const SampleFile file = read(text);
  EXPECT_EQ(file.samples.base_unix_ns, 1'000'000'000);
  EXPECT_EQ(file.text_bytes, text.size());
  EXPECT_FALSE(file.defects.any());
  ASSERT_EQ(file.samples.series.size(), 2U);
  const auto& series = file.samples.series;
  const auto run =
      std::find_if(series.begin(), series.end(), [](const SampleSeries& one) { return one.metric == "cpu.run"; });
  ASSERT_NE(run, series.end());
  EXPECT_EQ(run->entity, "rank 0");
  EXPECT_EQ(run->unit, "cores");
  ASSERT_EQ(run->samples.size(), 2U);
  EXPECT_EQ(run->samples[0].time_ns, 10'500);
  EXPECT_EQ(run->samples[0].value, 0.5);
  EXPECT_EQ(run->samples[1].time_ns, 20'500);
}

TEST(ReadSamples, WhatIsNoDocumentIsAnError) {
  EXPECT_FALSE(read_samples(memory_source("")).ok());
  EXPECT_FALSE(read_samples(memory_source("nothing of the kind")).ok());
  EXPECT_TRUE(read(R"({"traceEvents": []})").samples.series.empty());
}

SampleSeries series(const std::string& entity, const std::string& metric, std::vector<Sample> samples,
                    const std::string& unit = "cores") {
  return {.entity = entity, .metric = metric, .unit = unit, .samples = std::move(samples)};
}

TEST(MergeSamples, TheSameSeriesFromTwoFilesBecomesOne) {
  SampleSet into{.base_unix_ns = 1000, .series = {series("rank 1", "m", {{5, 1}, {20, 2}})}};
  const SampleSet more{.base_unix_ns = 1010,
                       .series = {series("rank 1", "m", {{0, 3}, {30, 4}}), series("rank 0", "m", {{1, 5}}),
                                  series("rank 1", "m", {{7, 6}}, "count")}};
  merge_samples(into, more);
  EXPECT_EQ(into.base_unix_ns, 1000);
  ASSERT_EQ(into.series.size(), 3U);
  EXPECT_EQ(into.series[0].entity, "rank 0");
  EXPECT_EQ(into.series[0].samples[0].time_ns, 11);
  ASSERT_EQ(into.series[1].samples.size(), 4U);
  EXPECT_EQ(into.series[1].samples[1].time_ns, 10);
  EXPECT_EQ(into.series[1].samples[1].value, 3);
  EXPECT_EQ(into.series[1].samples[3].time_ns, 40);
  EXPECT_EQ(into.series[2].unit, "count") << "another unit is another series";
}

TEST(MergeSamples, AnEmptySetTakesTheOthersBase) {
  SampleSet into;
  merge_samples(into, {.base_unix_ns = 77, .series = {series("rank 0", "m", {{5, 1}})}});
  EXPECT_EQ(into.base_unix_ns, 77);
  EXPECT_EQ(into.series[0].samples[0].time_ns, 5);
}

TEST(MergeSamples, TimesBeyondAllBoundsSaturate) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  SampleSet into{.base_unix_ns = -kMost, .series = {series("a", "m", {{-kMost, 0}})}};
  merge_samples(into, {.base_unix_ns = kMost, .series = {series("a", "m", {{kMost, 1}, {-kMost, 2}})}});
  ASSERT_EQ(into.series[0].samples.size(), 3U);
  EXPECT_EQ(into.series[0].samples[2].time_ns, kMost);
}

/// A series' samples as absolute times, so that sets with other bases compare equal.
using Absolute = std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::pair<int64_t, double>>>;
Absolute absolute(const SampleSet& set) {
  Absolute all;
  for (const SampleSeries& one : set.series) {
    auto& samples = all[{one.entity, one.metric, one.unit}];
    for (const Sample& sample : one.samples) samples.emplace_back(set.base_unix_ns + sample.time_ns, sample.value);
  }
  return all;
}

SampleSet any_set() {
  SampleSet set;
  set.base_unix_ns = *rc::gen::inRange<int64_t>(0, 100);
  const auto count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    std::vector<Sample> samples;
    const auto length = *rc::gen::inRange(0, 6);
    for (int k = 0; k < length; ++k) {
      samples.push_back({*rc::gen::inRange<int64_t>(-20, 20), static_cast<double>(*rc::gen::inRange(0, 3))});
    }
    std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
    set.series.push_back(series(*rc::gen::element<std::string>("rank 0", "rank 1"),
                                *rc::gen::element<std::string>("a", "b"), samples,
                                *rc::gen::element<std::string>("cores", "count")));
  }
  return set;
}

TEST(MergeSamples, TheOrderOfMergingDoesNotShow) {
  EXPECT_TRUE(rc::check("any order gives the same samples, none lost, each series once and in order", [] {
    const SampleSet a = any_set();
    const SampleSet b = any_set();
    const SampleSet c = any_set();
    SampleSet left;
    for (const SampleSet* set : {&a, &b, &c}) merge_samples(left, *set);
    SampleSet right;
    for (const SampleSet* set : {&c, &a, &b}) merge_samples(right, *set);
    RC_ASSERT(absolute(left) == absolute(right));
    RC_ASSERT(absolute(left).size() == left.series.size());
    size_t total = 0;
    for (const SampleSet* set : {&a, &b, &c}) {
      for (const SampleSeries& one : set->series) total += one.samples.size();
    }
    for (const SampleSeries& one : left.series) {
      total -= one.samples.size();
      RC_ASSERT(std::is_sorted(one.samples.begin(), one.samples.end(),
                               [](const Sample& x, const Sample& y) { return x.time_ns < y.time_ns; }));
    }
    RC_ASSERT(total == 0U);
  }));
}

TEST(MergeSamples, NotANumberDoesNoHarm) {
  const double nan = std::nan("");
  SampleSet into{.series = {series("a", "m", {{1, nan}, {1, 2}})}};
  merge_samples(into, {.series = {series("a", "m", {{1, 1}, {0, nan}})}});
  ASSERT_EQ(into.series[0].samples.size(), 4U);
  EXPECT_EQ(into.series[0].samples[0].time_ns, 0);
}

TEST(SampleMeaning, TheUnitTells) {
  for (const char* unit : {"fraction", "cores", "per_s", "bytes_per_s"}) {
    EXPECT_EQ(sample_meaning(unit), SampleMeaning::kRate) << unit;
  }
  for (const char* unit : {"count", "bytes", "hz", "watts", "celsius", "ms", "bits_per_s", ""}) {
    EXPECT_EQ(sample_meaning(unit), SampleMeaning::kLevel) << unit;
  }
}

TEST(SamplesShared, EveryRecordingIsReadWhole) {
  const char* shared = std::getenv("EROICA_SHARED");
  const fs::path data =
      fs::path(shared != nullptr && *shared != '\0' ? shared : EROICA_SOURCE_DIR "/../shared") / "data";
  if (!fs::exists(data)) GTEST_SKIP() << "no recorded incidents at " << data;

  struct Expected {
    size_t series;
    size_t samples;
    size_t longest;
  };
  // Counted by a reader of another kind.
  const std::map<std::string, Expected> expected = {
      {"busy-neighbours/samples.json.zst", {73, 6950, 96}},
      {"cgroup-quota/samples.json.zst", {73, 6956, 96}},
      {"checkpoint/samples.json.zst", {73, 7970, 110}},
      {"gc-pauses/samples.json.gz", {73, 10747, 148}},
      {"healthy-1/samples.json.gz", {73, 10528, 145}},
      {"healthy-2/samples.json.zst", {73, 5346, 74}},
      {"sequence-lengths/samples.json.zst", {73, 5201, 72}},
      {"slow-disk/samples.json.gz", {73, 10814, 149}},
      {"slow-kernel/samples.json.zst", {73, 5269, 73}},
      {"slow-link/samples.json.gz", {73, 10964, 151}},
      {"slow-transform/samples.json.zst", {73, 6880, 95}},
      {"uneven-batch/samples.json.zst", {73, 5200, 72}},
      {"validation-on-all/samples.json.zst", {73, 1772, 25}},
      {"bond-degraded/samples-dgx122.json.zst", {112, 10888, 387}},
      {"bond-degraded/samples-dgx123.json.zst", {112, 10852, 387}},
      {"thermal-throttle/samples-trn-a167.json.zst", {205, 40589, 428}},
  };
  size_t seen = 0;
  for (const char* kind : {"incidents", "simulated"}) {
    for (const auto& folder : fs::directory_iterator(data / kind)) {
      Result<InputSet> inputs = discover({folder.path().string()}, {});
      ASSERT_TRUE(inputs.ok()) << inputs.error().message;
      for (const std::string& path : inputs->sample_paths) {
        const std::string name = folder.path().filename().string() + "/" + fs::path(path).filename().string();
        SCOPED_TRACE(name);
        Result<std::unique_ptr<ByteSource>> source = open_file(path);
        ASSERT_TRUE(source.ok());
        Result<SampleFile> file = read_samples(std::move(*source));
        ASSERT_TRUE(file.ok()) << file.error().message;
        EXPECT_FALSE(file->defects.any());
        EXPECT_GT(file->samples.base_unix_ns, 0);
        size_t samples = 0;
        size_t longest = 0;
        for (const SampleSeries& one : file->samples.series) {
          samples += one.samples.size();
          longest = std::max(longest, one.samples.size());
          EXPECT_FALSE(one.unit.empty());
        }
        ASSERT_TRUE(expected.contains(name));
        EXPECT_EQ(file->samples.series.size(), expected.at(name).series);
        EXPECT_EQ(samples, expected.at(name).samples);
        EXPECT_EQ(longest, expected.at(name).longest);
        ++seen;
      }
    }
  }
  EXPECT_EQ(seen, expected.size());
}

}  // namespace
}  // namespace eroica
