#include "agent/window_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/nccl_ring.h"

namespace eroica::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kSecond = 1'000'000'000;

/// A job of two ranks whose files the test writes.
class WindowRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "wrXXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    Result<DatagramSocket> bound = DatagramSocket::bind(folder_ + "/probe", kMostProbeBytes);
    ASSERT_TRUE(bound);
    socket_.emplace(std::move(bound.value()));
    for (const int32_t number : {0, 1}) {
      HelloMessage hello;
      hello.rank = number;
      hello.world_size = 2;
      hello.kineto_daemon = true;
      hello.profile = true;
      ranks_.hello(hello, 100 + number, fmt::format("{}-ab", 100 + number), false, 1);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  WindowRunner runner(PythonStacks stacks) { return {"job", folder_, folder_, *socket_, stacks}; }

  void write(const std::string& window, int32_t rank, off_t bytes) const {
    const std::string path = fmt::format("{}/{}/rank{}_{}.json", folder_, window, rank, 100 + rank);
    const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_EQ(ftruncate(file, bytes), 0);
    close(file);
  }

  /// What each rank is told; then it writes so much.
  std::vector<std::string> take(WindowRunner& runner, off_t bytes_of_1, std::optional<WindowTaken>& taken) {
    EXPECT_TRUE(runner.begin(ranks_, 3, {}, now_ns_));
    std::vector<std::string> told = {runner.configuration_for(0, now_ns_), runner.configuration_for(1, now_ns_)};
    runner.armed(0);
    runner.armed(1);
    const WindowPlan plan = runner.plan();
    write(plan.id, 0, 1000);
    write(plan.id, 1, bytes_of_1);
    now_ns_ = plan.end_unix_ns + kSecond;
    taken = runner.tick(ranks_, now_ns_);
    return told;
  }

  std::string folder_;
  std::optional<DatagramSocket> socket_;
  RankTable ranks_;
  int64_t now_ns_ = 1'700'000'000 * kSecond;
};

TEST_F(WindowRunnerTest, StacksAsThePolicySays) {
  std::optional<WindowTaken> taken;
  WindowRunner with = runner(PythonStacks::kTrace);
  EXPECT_THAT(take(with, 1000, taken)[0], HasSubstr("PROFILE_WITH_STACK=true\n"));
  ASSERT_TRUE(taken);
  EXPECT_THAT(taken->notes, IsEmpty());
  std::filesystem::remove_all(taken->folder);
  WindowRunner without = runner(PythonStacks::kOff);
  EXPECT_THAT(take(without, 1'000'000'000, taken)[1], HasSubstr("PROFILE_WITH_STACK=false\n"));
  ASSERT_TRUE(taken);
  EXPECT_THAT(taken->notes, IsEmpty());
}

TEST_F(WindowRunnerTest, ARankWithBusyPythonIsSparedItsStacks) {
  WindowRunner runner = this->runner(PythonStacks::kTrace);
  std::optional<WindowTaken> taken;
  take(runner, 602'000'000, taken);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->notes.size(), 1);
  EXPECT_THAT(taken->notes[0], HasSubstr("rank 1 wrote 602 MB in a window of 3.0 s"));
  const std::vector<std::string> told = take(runner, 1000, taken);
  EXPECT_THAT(told[0], HasSubstr("PROFILE_WITH_STACK=true\n"));
  EXPECT_THAT(told[1], HasSubstr("PROFILE_WITH_STACK=false\n"));
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->notes.size(), 1);
  EXPECT_THAT(taken->notes[0], HasSubstr("rank 1 was profiled without Python stacks"));
}

TEST_F(WindowRunnerTest, BesideTheJobsOwnProfilerNobodyWaitsForATrace) {
  WindowRunner runner = this->runner(PythonStacks::kTrace);
  ASSERT_TRUE(runner.begin(ranks_, 3, {}, now_ns_));
  const std::string id = runner.plan().id;
  for (const int32_t rank : {0, 1}) {
    ASSERT_FALSE(runner.configuration_for(rank, now_ns_).empty());
    runner.armed(rank);
    runner.edge(rank, {rank, id, false, rank == 1, "{}"});
  }
  write(id, 0, 1000);
  const std::optional<WindowTaken> taken = runner.tick(ranks_, runner.plan().end_unix_ns);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->notes.size(), 1);
  EXPECT_THAT(taken->notes[0], HasSubstr("rank 1 has no trace: the job's own profiler is running"));
}

/// Leaves a plugin's ring with one record of each of these times.
void write_ring(const std::string& folder, const std::string& owner, int64_t rank, std::vector<int64_t> times) {
  const nccl::Header header{.magic = nccl::kMagic, .rank = rank, .epoch = 1, .taken = times.size(), .lost = 2};
  std::string bytes(nccl::kRecordsAt, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  for (const int64_t at_ns : times) {
    nccl::Record record{.epoch = 1, .kind = nccl::Kind::kCollective, .start_unix_ns = at_ns, .duration_ns = 5};
    record.check = check_of(record);
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  std::ofstream(nccl_socket_in(folder, owner)) << "";  // in place of its socket
  std::ofstream(nccl_ring_in(folder, owner), std::ios::binary) << bytes;
}

TEST_F(WindowRunnerTest, WhatNcclToldStandsInTheBundle) {
  WindowRunner runner = this->runner(PythonStacks::kTrace);
  std::optional<WindowTaken> taken;
  write_ring(folder_, "100-ab", 0, {now_ns_ - kSecond});        // of an earlier window
  write_ring(folder_, "101-ab", 1, {now_ns_ + 20 * kSecond});   // of this one
  write_ring(folder_, "102-ab", 7, {now_ns_ + 20 * kSecond});   // of no rank of the window
  write_ring(folder_, "103-ab", -1, {now_ns_ + 20 * kSecond});  // of nobody knows whom
  take(runner, 1000, taken);
  ASSERT_TRUE(taken);
  std::ifstream file(taken->folder + "/bundle.json");
  const std::string bundle((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(bundle, HasSubstr(R"("nccl": "nccl-rank1.json")"));
  EXPECT_THAT(bundle, Not(HasSubstr("nccl-rank0.json")));
  EXPECT_TRUE(std::filesystem::exists(taken->folder + "/nccl-rank1.json"));
  EXPECT_FALSE(std::filesystem::exists(taken->folder + "/nccl-rank7.json"));
  ASSERT_EQ(taken->notes.size(), 1);
  EXPECT_EQ(taken->notes[0], "of rank 1, 2 events of NCCL were lost");
}

}  // namespace
}  // namespace eroica::testing
