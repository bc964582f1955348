#include "cli/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "cli/conclude.h"
#include "cli/executor.h"
#include "cli/pipeline.h"
#include "cli/rules_source.h"
#include "pattern/pattern_file.h"
#include "simulate/fault.h"
#include "simulate/pattern_packs.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

class NoProgress : public ProgressSink {
 public:
  void begin(uint64_t, size_t) override {}
  void advance(uint64_t) override {}
  void file_done() override {}
  void end() override {}
};

constexpr int kRanks = 2500;

/// Packs of a job with a fault, removed in the end.
class Stream : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = fs::temp_directory_path() / ("eroica-stream-" + std::to_string(getpid()));
    fs::create_directories(folder());
    PackRequest request;
    request.job.seed = 5;
    request.job.faults.push_back(parse_fault("gpu.thermal_throttle").value());
    request.ranks = kRanks;
    request.ranks_per_pack = 300;
    const Result<PackSummary> packs = write_packs(request, [](std::string_view name, std::string_view bytes) -> Status {
      std::ofstream(folder() / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      return ok_status();
    });
    ASSERT_TRUE(packs.ok()) << packs.error().message;
    faulty() = packs->faulty;
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static fs::path& folder() {
    static fs::path path;
    return path;
  }
  static std::vector<int>& faulty() {
    static std::vector<int> ranks;
    return ranks;
  }
  static InputSet inputs() { return discover({folder().string()}, {}).value(); }
  static StreamedJob streamed(size_t threads) {
    ThreadExecutor executor(threads);
    NoProgress progress;
    return std::move(stream_patterns(inputs(), executor, progress).value());
  }
};

auto key(const Diagnosis& diagnosis) {
  return std::tie(diagnosis.cause, diagnosis.ranks, diagnosis.hosts, diagnosis.component, diagnosis.summary,
                  diagnosis.confidence, diagnosis.lost_ms_per_step, diagnosis.confidence_why);
}

void expect_same(const std::vector<Diagnosis>& a, const std::vector<Diagnosis>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(key(a[i]), key(b[i]));
}

TEST_F(Stream, GivesTheSameDiagnosesAsAllPatternsAtOnce) {
  ASSERT_TRUE(is_streamed(inputs()));
  const StreamedJob parts = streamed(3);
  ThreadExecutor executor(2);
  NoProgress progress;
  const Result<Collected> collected = collect_patterns(inputs(), "", executor, progress);
  ASSERT_TRUE(collected.ok());
  ASSERT_EQ(collected->patterns.size(), static_cast<size_t>(kRanks));
  const RuleSet rules = load_rules({}).value();
  const Conclusion streamed_conclusion = conclude(parts.job, parts.names, nullptr, rules.rules);
  const Conclusion whole = conclude(*collected, nullptr, rules.rules);
  expect_same(streamed_conclusion.diagnoses, whole.diagnoses);
  expect_same(streamed_conclusion.hints, whole.hints);
  EXPECT_EQ(streamed_conclusion.victims, whole.victims);
  ASSERT_FALSE(whole.diagnoses.empty());
  EXPECT_EQ(whole.diagnoses.front().cause, "gpu.thermal_throttle");
  EXPECT_EQ(whole.diagnoses.front().ranks, std::vector<int32_t>(faulty().begin(), faulty().end()));
  EXPECT_EQ(parts.whole.ranks.size(), static_cast<size_t>(kRanks));
  EXPECT_EQ(parts.whole.hosts, 313u);
}

TEST_F(Stream, DoesNotDependOnTheNumberOfThreads) {
  const StreamedJob one = streamed(1);
  const StreamedJob four = streamed(4);
  EXPECT_EQ(one.whole.ranks, four.whole.ranks);
  EXPECT_EQ(one.places, four.places);
  ASSERT_EQ(one.job.uses.size(), four.job.uses.size());
  for (size_t i = 0; i < one.job.uses.size(); ++i) {
    ASSERT_EQ(one.job.uses[i].function, four.job.uses[i].function);
    ASSERT_EQ(one.job.uses[i].exposed, four.job.uses[i].exposed);
  }
  ASSERT_EQ(one.sample.size(), four.sample.size());
  for (size_t i = 0; i < one.sample.size(); ++i) EXPECT_EQ(one.sample[i].rank, four.sample[i].rank);
}

TEST_F(Stream, KeepsAnEvenSampleAndThoseThatAreAskedFor) {
  StreamedJob parts = streamed(2);
  EXPECT_GT(parts.sample.size(), 60u);
  EXPECT_LE(parts.sample.size(), 128u);
  EXPECT_LT(parts.sample.front().rank, 100);
  EXPECT_GT(parts.sample.back().rank, kRanks - 200);
  ThreadExecutor executor(2);
  const std::vector<int32_t> asked{7, 1234, 2499, 9999};
  add_to_sample(parts, inputs(), asked, executor);
  for (const int32_t rank : {7, 1234, 2499}) {
    EXPECT_EQ(std::ranges::count(parts.sample, rank, &RankPattern::rank), 1) << rank;
  }
  EXPECT_TRUE(std::ranges::is_sorted(parts.sample, {}, &RankPattern::rank));
}

TEST_F(Stream, APatternThatCannotBeDecodedIsToldWithItsPlace) {
  const fs::path damaged = folder() / "damaged.eroica";
  std::ofstream(damaged, std::ios::binary) << frame_record(RecordType::kPattern, "no pattern");
  ThreadExecutor executor(2);
  NoProgress progress;
  const Result<StreamedJob> result = stream_patterns(inputs(), executor, progress);
  fs::remove(damaged);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->whole.ranks.size(), static_cast<size_t>(kRanks));
  EXPECT_THAT(result->notes,
              testing::Contains(testing::HasSubstr("damaged.eroica: at byte 0: damaged, or no pattern")));
}

TEST_F(Stream, ARankInTwoFilesIsAnError) {
  const fs::path twice = folder() / "twice.eroica";
  fs::copy_file(folder() / "pack-00000.eroica", twice);
  ThreadExecutor executor(2);
  NoProgress progress;
  const Result<StreamedJob> result = stream_patterns(inputs(), executor, progress);
  fs::remove(twice);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, Error::Kind::kAmbiguous);
  EXPECT_THAT(result.error().message, ::testing::HasSubstr("twice.eroica"));
}

TEST_F(Stream, DamageIsToldAndTheRestRead) {
  const fs::path pack = folder() / "pack-00001.eroica";
  std::string bytes(fs::file_size(pack), '\0');
  std::ifstream(pack, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::string damaged = bytes;
  damaged[bytes.size() / 2] = static_cast<char>(damaged[bytes.size() / 2] ^ 0x55);
  std::ofstream(pack, std::ios::binary).write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
  const StreamedJob parts = streamed(2);
  std::ofstream(pack, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_EQ(parts.whole.ranks.size(), static_cast<size_t>(kRanks - 1));
  EXPECT_FALSE(parts.notes.empty());
}

}  // namespace
}  // namespace eroica
