#include "agent/window_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <tuple>

#include "agent/nccl_ring.h"

#include "trace/bundle.h"

namespace eroica::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kSecond = 1'000'000'000;
constexpr pid_t kNoPid = 1 << 25;  // beyond what the kernel gives

/// A job of two ranks whose files the test writes.
class WindowRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "wrXXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    setenv("PATH", folder_.c_str(), 1);  // where there is no py-spy
    Result<DatagramSocket> bound = DatagramSocket::bind(folder_ + "/probe", kMostProbeBytes);
    ASSERT_TRUE(bound);
    socket_.emplace(std::move(bound.value()));
    for (const int32_t number : {0, 1}) {
      HelloMessage hello;
      hello.rank = number;
      hello.world_size = 2;
      hello.kineto_daemon = true;
      hello.profile = true;
      ranks_.hello(hello, kNoPid + number, fmt::format("{}-ab", 100 + number), false, 1);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  WindowRunner runner(PythonStacks stacks, double most_mb = 1000) {
    WindowPolicy policy;
    policy.stacks = stacks;
    policy.most_mb = most_mb;
    return {"job", folder_, folder_, *socket_, policy};
  }

  void write(const std::string& window, int32_t rank, off_t bytes) const {
    const std::string path = fmt::format("{}/{}/rank{}_{}.json", folder_, window, rank, 100 + rank);
    const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_EQ(ftruncate(file, bytes), 0);
    close(file);
  }

  /// What each rank is told; then it writes so much.
  std::vector<std::string> take(WindowRunner& runner, off_t bytes_of_1, std::optional<WindowTaken>& taken) {
    EXPECT_TRUE(runner.begin(ranks_, 3, {}, now_ns_));
    std::vector<std::string> told = {runner.configuration_for(*ranks_.by_rank(0), now_ns_),
                                     runner.configuration_for(*ranks_.by_rank(1), now_ns_)};
    runner.armed(0);
    runner.armed(1);
    const WindowPlan plan = runner.plan();
    write(plan.id, 0, 1000);
    write(plan.id, 1, bytes_of_1);
    now_ns_ = plan.end_unix_ns + kSecond;
    taken = end(runner);
    return told;
  }

  /// The window, once all of it is written.
  std::optional<WindowTaken> end(WindowRunner& runner) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::optional<WindowTaken> taken = runner.tick(ranks_, now_ns_);
    while (!taken && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      taken = runner.tick(ranks_, now_ns_);
    }
    return taken;
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
  EXPECT_THAT(taken->notes, ElementsAre("rank 1: Python is too busy there for every call to be traced",
                                        "rank 1: profiled without Python stacks, since py-spy is not installed"));
}

TEST_F(WindowRunnerTest, ShapesOnlyWhereNoDeviceTellsHowMuchWorkThereIs) {
  ranks_.by_rank(1)->hello.cuda = "12.4";
  std::optional<WindowTaken> taken;
  for (const auto& [shapes, of_0, of_1] :
       {std::tuple(InputShapes::kAuto, "true", "false"), std::tuple(InputShapes::kOn, "true", "true"),
        std::tuple(InputShapes::kOff, "false", "false")}) {
    WindowPolicy policy;
    policy.shapes = shapes;
    WindowRunner runner("job", folder_, folder_, *socket_, policy);
    const std::vector<std::string> told = take(runner, 1000, taken);
    EXPECT_THAT(told[0], HasSubstr(fmt::format("PROFILE_REPORT_INPUT_SHAPES={}\n", of_0)));
    EXPECT_THAT(told[1], HasSubstr(fmt::format("PROFILE_REPORT_INPUT_SHAPES={}\n", of_1)));
  }
}

TEST_F(WindowRunnerTest, ATorchForGpusOnAHostWithoutTellsShapesToo) {
  for (const int32_t rank : {0, 1}) ranks_.by_rank(rank)->hello.cuda = "12.4";
  ranks_.by_rank(0)->hello.gpu = false;
  ranks_.by_rank(1)->hello.gpu = true;
  WindowRunner runner = this->runner(PythonStacks::kTrace);
  std::optional<WindowTaken> taken;
  const std::vector<std::string> told = take(runner, 1000, taken);
  EXPECT_THAT(told[0], HasSubstr("PROFILE_REPORT_INPUT_SHAPES=true\n"));
  EXPECT_THAT(told[1], HasSubstr("PROFILE_REPORT_INPUT_SHAPES=false\n"));
}

TEST_F(WindowRunnerTest, ARankThatWroteTooMuchGetsAShorterWindow) {
  WindowRunner runner = this->runner(PythonStacks::kOff, 100);
  std::optional<WindowTaken> taken;
  take(runner, 600'000'000, taken);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->window.plan().end_unix_ns - taken->window.plan().start_unix_ns, 3 * kSecond);
  EXPECT_THAT(taken->notes, IsEmpty());
  take(runner, 1000, taken);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->window.plan().end_unix_ns - taken->window.plan().start_unix_ns, kSecond / 2);
  EXPECT_THAT(taken->notes, ElementsAre("the window is 0.5 s long, since rank 1 writes 200 MB a second (most_mb)"));
  take(runner, 1000, taken);
  EXPECT_EQ(taken->window.plan().end_unix_ns - taken->window.plan().start_unix_ns, 3 * kSecond);
}

TEST_F(WindowRunnerTest, StacksThatCannotBeSampledAreLeftOut) {
  WindowRunner runner = this->runner(PythonStacks::kSample);
  std::optional<WindowTaken> taken;
  EXPECT_THAT(take(runner, 602'000'000, taken), Each(HasSubstr("PROFILE_WITH_STACK=false\n")));
  ASSERT_TRUE(taken);
  EXPECT_THAT(taken->notes, ElementsAre("ranks 0-1: profiled without Python stacks, since py-spy is not installed"));
}

TEST_F(WindowRunnerTest, BesideTheJobsOwnProfilerNobodyWaitsForATrace) {
  WindowRunner runner = this->runner(PythonStacks::kTrace);
  ASSERT_TRUE(runner.begin(ranks_, 3, {}, now_ns_));
  const std::string id = runner.plan().id;
  for (const int32_t rank : {0, 1}) {
    ASSERT_FALSE(runner.configuration_for(*ranks_.by_rank(rank), now_ns_).empty());
    runner.armed(rank);
    runner.edge(rank, {rank, id, false, rank == 1, {}});
  }
  write(id, 0, 1000);
  now_ns_ = runner.plan().end_unix_ns;
  const std::optional<WindowTaken> taken = end(runner);
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
  write_ring(folder_, "102-ab", 0, {now_ns_ + 20 * kSecond});   // of another process that is a rank 0
  write_ring(folder_, "103-ab", -1, {now_ns_ + 20 * kSecond});  // of nobody knows whom
  take(runner, 1000, taken);
  ASSERT_TRUE(taken);
  std::ifstream file(taken->folder + "/bundle.json");
  const std::string bundle((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(bundle, HasSubstr(R"("nccl": "nccl-rank1.json")"));
  EXPECT_THAT(bundle, Not(HasSubstr("nccl-rank0.json")));
  EXPECT_TRUE(std::filesystem::exists(taken->folder + "/nccl-rank1.json"));
  EXPECT_FALSE(std::filesystem::exists(taken->folder + "/nccl-rank0.json"));
  ASSERT_EQ(taken->notes.size(), 1);
  EXPECT_EQ(taken->notes[0], "of rank 1, 2 events of NCCL were lost");
}

TEST_F(WindowRunnerTest, ThePidTellsWhoseNcclItIs) {
  HelloMessage hello;
  hello.rank = 2;
  hello.world_size = 3;
  ranks_.hello(hello, kNoPid + 2, "101-cd", false, 1);  // a container's process may have the number of another one's
  write_ring(folder_, "100-ab", 5, {now_ns_ + 20 * kSecond});  // rank 0, whatever another launcher called it
  write_ring(folder_, "101-ef", 2, {now_ns_ + 20 * kSecond});
  write_ring(folder_, "101-ab", 1, {now_ns_ + 20 * kSecond});
  WindowRunner runner = this->runner(PythonStacks::kTrace);
  std::optional<WindowTaken> taken;
  take(runner, 1000, taken);
  ASSERT_TRUE(taken);
  for (const char* name : {"nccl-rank0.json", "nccl-rank1.json", "nccl-rank2.json"}) {
    EXPECT_TRUE(std::filesystem::exists(taken->folder + "/" + name)) << name;
  }
}

TEST_F(WindowRunnerTest, WhatTheProbesReadAtTheEdgesIsInTheBundle) {
  WindowRunner runner = this->runner(PythonStacks::kTrace);
  ASSERT_TRUE(runner.begin(ranks_, 3, {}, now_ns_));
  const WindowPlan plan = runner.plan();
  for (const int32_t rank : {0, 1}) write(plan.id, rank, 1000);
  runner.edge(1, {1, plan.id, false, false, {plan.start_unix_ns, 7, 5, {{"0", 12, 11}}}});
  runner.edge(1, {1, plan.id, false, false, {plan.start_unix_ns, 7, 5, {{"tp", 3, 3}}}});
  runner.edge(1, {1, plan.id, true, false, {plan.end_unix_ns, 17, 6, {}}});
  runner.edge(1, {1, "another", true, false, {1, 1, 1, {}}});
  now_ns_ = plan.end_unix_ns;
  const std::optional<WindowTaken> taken = end(runner);
  ASSERT_TRUE(taken);
  const Result<InputSet> inputs = discover({taken->folder}, {});
  ASSERT_TRUE(inputs);
  ASSERT_EQ(inputs->ranks.size(), 2U);
  EXPECT_FALSE(inputs->ranks[0].edges.start || inputs->ranks[0].edges.end);
  const WindowEdges& edges = inputs->ranks[1].edges;
  ASSERT_TRUE(edges.start && edges.end);
  EXPECT_EQ(edges.start->step, 7);
  ASSERT_EQ(edges.start->groups.size(), 2U);
  EXPECT_EQ(edges.start->groups[1].group, "tp");
  EXPECT_EQ(edges.start->groups[0].last_completed, 11);
  EXPECT_EQ(edges.end->unix_ns, plan.end_unix_ns);
}

}  // namespace
}  // namespace eroica::testing
