#include "cli/kept_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/step_records_file.h"
#include "steps/record_log.h"

namespace eroica::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;

constexpr int64_t kNow = int64_t{1'790'000'000} * 1'000'000'000;

class KeptRecordsTest : public ::testing::Test {
 protected:
  KeptRecordsTest() {
    std::string name = (fs::temp_directory_path() / "eroica-records-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~KeptRecordsTest() override { fs::remove_all(folder_); }

  /// Of a watcher that saw steps from `first` on.
  static std::string records(int64_t first) {
    RecordLog log("job7");
    for (int64_t step = first; step < first + 10; ++step) {
      log.append({.rank = 0, .step = step, .unix_ns = kNow + step * 1'000'000'000, .monotonic_ns = step, .fetches = 1});
    }
    return log.bytes();
  }

  fs::path folder_;
};

TEST_F(KeptRecordsTest, ThoseOfALaterWatcherStandBesideThoseOfAnEarlierOneAndReplayReadsBoth) {
  const std::string kept = (folder_ / "kept").string();
  ASSERT_TRUE(keep_records(kept, records(1), {}, kNow));
  ASSERT_TRUE(keep_records(kept, records(11), {}, kNow)) << "within the same second";
  ASSERT_TRUE(keep_records(kept, records(21), {}, kNow + 60'000'000'000));
  std::ofstream(folder_ / "kept" / "notes.steps") << "mine";
  const std::vector<std::string> files = step_record_files(kept);
  ASSERT_THAT(files, ElementsAre(EndsWith("20260921T141320Z-records-1.steps"), EndsWith("T141320Z-records-2.steps"),
                                 EndsWith("T141420Z-records-1.steps")));
  int64_t first = 1;
  for (const std::string& file : files) {
    const Result<RecordedSteps> steps = read_recorded_steps(file);
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->job, "job7");
    EXPECT_EQ(steps->arrivals.front().record.step, first);
    first += 10;
  }
  EXPECT_THAT(step_record_files(files[0]), ElementsAre(files[0]));
  EXPECT_THAT(step_record_files("/nowhere"), ElementsAre("/nowhere"));
}

TEST_F(KeptRecordsTest, TheOldestGo) {
  const std::string folder = folder_.string();
  KeepPolicy policy;
  policy.most_windows = 2;
  for (int64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(keep_records(folder, records(1), policy, kNow + i * 1'000'000'000));
    EXPECT_LE(step_record_files(folder).size(), 2U);
  }
  EXPECT_THAT(step_record_files(folder),
              ElementsAre(EndsWith("T141322Z-records-1.steps"), EndsWith("T141323Z-records-1.steps")));
}

}  // namespace
}  // namespace eroica::testing
