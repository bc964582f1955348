#include "steps/record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steps/step_series.h"

namespace eroica::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<StepRecord> sample(size_t steps, int32_t ranks) {
  Draw draw(3);
  std::vector<StepRecord> records;
  int64_t now_us = 1'000'000;
  for (size_t step = 0; step < steps; ++step) {
    now_us += 70'000 + static_cast<int64_t>(draw.uniform() * 5000);
    for (int32_t rank = 0; rank < ranks; ++rank) {
      const auto jitter = static_cast<int64_t>(draw.uniform() * 100);
      records.push_back({.rank = rank,
                         .step = static_cast<int64_t>(step),
                         .unix_ns = 1'790'000'000'000'000'000 + (now_us + jitter) * 1000,
                         .monotonic_ns = (now_us + jitter + rank * 1'000'000'000LL) * 1000,
                         .data_wait_ns = static_cast<int64_t>(draw.uniform() * 2000) * 1000,
                         .fetches = 1});
    }
  }
  return records;
}

std::string written(const std::vector<StepRecord>& records) {
  RecordLog log("job-1");
  for (const StepRecord& record : records) log.append(record);
  return log.bytes();
}

TEST(RecordLog, WhatIsWrittenIsRead) {
  const std::vector<StepRecord> records = sample(5000, 4);
  const std::string bytes = written(records);
  EXPECT_TRUE(is_record_log(bytes));
  EXPECT_LT(static_cast<double>(bytes.size()) / static_cast<double>(records.size()), 12);
  const Result<ReadRecords> read = read_record_log(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->job, "job-1");
  EXPECT_THAT(read->problems, IsEmpty());
  EXPECT_THAT(read->records, ElementsAreArray(records));
}

TEST(RecordLog, ExtremesSurvive) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1000 * 1000;
  const std::vector<StepRecord> records = {
      {0, std::numeric_limits<int64_t>::max(), kMost, -kMost, kMost, 0},
      {0, std::numeric_limits<int64_t>::min(), -kMost, kMost, -kMost, std::numeric_limits<uint32_t>::max()},
      {std::numeric_limits<int32_t>::max(), 0, 0, 0, 0, 7},
  };
  const Result<ReadRecords> read = read_record_log(written(records));
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->records, ElementsAreArray(records));
}

TEST(RecordLog, KeepsNoMoreThanItMay) {
  RecordLog log("job", 300'000);
  const std::vector<StepRecord> records = sample(40'000, 4);
  for (const StepRecord& record : records) {
    log.append(record);
    ASSERT_LE(log.size(), 300'000);
  }
  const Result<ReadRecords> read = read_record_log(log.bytes());
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->problems, IsEmpty());
  EXPECT_EQ(read->records.back(), records.back());
  EXPECT_GT(read->records.size(), 20'000);
}

TEST(RecordLog, ClosedChunksCanBeAppendedToAFile) {
  RecordLog log("job");
  std::string file;
  const std::vector<StepRecord> records = sample(10'000, 4);
  for (const StepRecord& record : records) {
    log.append(record);
    file += log.take_closed();
  }
  EXPECT_THAT(log.take_closed(), IsEmpty());
  const Result<ReadRecords> read = read_record_log(file);
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->problems, IsEmpty());
  ASSERT_GT(read->records.size(), 30'000);
  EXPECT_EQ(read->records[30'000], records[30'000]);
}

TEST(RecordLog, ADamagedTailKeepsWhatPrecedesIt) {
  const std::vector<StepRecord> records = sample(5000, 4);
  const std::string bytes = written(records);
  for (size_t cut = 30; cut < bytes.size(); cut += 997) {
    const Result<ReadRecords> read = read_record_log(std::string_view(bytes).substr(0, cut));
    ASSERT_TRUE(read.ok());
    ASSERT_LE(read->records.size(), records.size());
    EXPECT_GE(static_cast<double>(read->records.size()), static_cast<double>(cut) / 12 - 3);
    EXPECT_THAT(read->records,
                ElementsAreArray(records.begin(), records.begin() + static_cast<int64_t>(read->records.size())));
  }
}

TEST(RecordLog, ADamagedChunkIsLeftOutAndTheNextOneRead) {
  const std::vector<StepRecord> records = sample(10'000, 4);
  std::string bytes = written(records);
  bytes[1000] = static_cast<char>(bytes[1000] ^ 0x55);
  const Result<ReadRecords> read = read_record_log(bytes);
  ASSERT_TRUE(read.ok());
  ASSERT_THAT(read->problems, SizeIs(1));
  EXPECT_THAT(read->problems[0], HasSubstr("chunk 1 is damaged"));
  EXPECT_EQ(read->records.back(), records.back());
  EXPECT_GT(read->records.size(), records.size() / 2);
}

TEST(RecordLog, OtherFilesAndNewerOnesAreRefused) {
  EXPECT_FALSE(read_record_log("{}").ok());
  EXPECT_FALSE(read_record_log("").ok());
  std::string bytes = written(sample(3, 1));
  bytes[4] = 9;
  const Result<ReadRecords> newer = read_record_log(bytes);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().kind, Error::Kind::kUnsupported);
}

TEST(RecordLog, ReadsNoMoreThanAsked) {
  const Result<ReadRecords> read = read_record_log(written(sample(1000, 4)), 100);
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->records, SizeIs(100));
}

}  // namespace
}  // namespace eroica::testing
