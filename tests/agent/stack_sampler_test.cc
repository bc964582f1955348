#include "agent/stack_sampler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/clocks.h"

namespace eroica::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A folder with a program in py-spy's place.
class StackSamplerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "ssXXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string program(const std::string& script) const {
    std::string path = folder_ + "/py-spy";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  /// Of a window that has just been.
  StackSampler::Outcome sampled(const std::string& py_spy, int64_t most_bytes = StackSampler::kMostBytes) const {
    WindowPlan plan;
    plan.end_unix_ns = unix_ns();
    plan.start_unix_ns = plan.end_unix_ns - 1'000'000;
    StackSampler sampler(folder_, plan, {{3, getpid(), py_spy}}, most_bytes);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!sampler.done() && std::chrono::steady_clock::now() < deadline) usleep(1000);
    return sampler.finish();
  }

  std::string folder_;
};

// The arguments end with "--output PATH".
constexpr const char* kWrite = R"(for path; do :; done
echo '[{"ph":"B","name":"thread (1): MainThread","tid":7,"ts":1},
 {"ph":"B","name":"main","tid":7,"ts":1,"args":{"filename":"a.py","line":5}},
 {"ph":"E","name":"main","tid":7,"ts":9}]' > "$path"
)";

TEST_F(StackSamplerTest, WhatWasSampledIsATrace) {
  const StackSampler::Outcome outcome = sampled(program(kWrite));
  EXPECT_THAT(outcome.notes, IsEmpty());
  ASSERT_EQ(outcome.files.at(3), "stacks-3.json");
  std::ifstream file(folder_ + "/stacks-3.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("a.py(5): main"));
  EXPECT_FALSE(fs::exists(folder_ + "/py-spy-3"));
  EXPECT_FALSE(fs::exists(folder_ + "/py-spy-errors-3"));
}

TEST_F(StackSamplerTest, OfMoreThanIsReadTheBeginningIsKeptAndThatIsTold) {
  const StackSampler::Outcome outcome = sampled(program(kWrite), 150);
  EXPECT_THAT(outcome.files, ElementsAre(std::pair<const int32_t, std::string>{3, "stacks-3.json"}));
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("rank 3: of the 0.0 MB that py-spy wrote the first 0.0 are read")));
}

TEST_F(StackSamplerTest, WhyThereIsNothingIsTold) {
  const StackSampler::Outcome refused =
      sampled(program("echo 'py-spy> hello' >&2; echo 'Error: not permitted' >&2; exit 1"));
  EXPECT_THAT(refused.files, IsEmpty());
  EXPECT_THAT(refused.notes, ElementsAre(HasSubstr("rank 3 was profiled without Python stacks: py-spy could not sample "
                                                   "it: Error: not permitted")));
  EXPECT_THAT(sampled(program("true")).notes, ElementsAre(HasSubstr("no main thread")));
  EXPECT_THAT(sampled(folder_ + "/missing").notes, ElementsAre(HasSubstr("No such file")));
}

TEST_F(StackSamplerTest, OneThatIsNotAwaitedIsEnded) {
  WindowPlan plan;
  plan.start_unix_ns = unix_ns();
  plan.end_unix_ns = plan.start_unix_ns + 600'000'000'000;
  StackSampler sampler(folder_, plan, {{3, getpid(), program("exec sleep 600")}});
  EXPECT_THAT(sampler.finish().files, IsEmpty());
}

TEST_F(StackSamplerTest, IsFoundOnThePathOrBesideThePython) {
  const std::string path = program("true");
  setenv("PATH", "/nowhere:", 1);
  EXPECT_EQ(find_py_spy("python3"), "");
  EXPECT_EQ(find_py_spy(folder_ + "/python3"), path);
  setenv("PATH", ("/nowhere:" + folder_).c_str(), 1);
  EXPECT_EQ(find_py_spy("python3"), path);
  EXPECT_THAT(program_of(getpid()), HasSubstr("test_agent"));
  EXPECT_EQ(program_of(1 << 25), "");
}

}  // namespace
}  // namespace eroica::testing
