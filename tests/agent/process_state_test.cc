#include "agent/process_state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace eroica {
namespace {

TEST(ProcessState, TellsOfThisProcess) {
  const ProcessState state = read_process_state(getpid());
  EXPECT_EQ(state.letter, 'R');
  EXPECT_GT(state.start_ticks, 0U);
  EXPECT_FALSE(catches_signal(getpid(), SIGUSR2));
}

/// As when the process ends between the opening of its file and the reading.
TEST(ProcessState, FilesThatOpenButCannotBeReadTellNothing) {
  const std::string proc = testing::TempDir() + "eroica_process_state";
  for (const char* name : {"stat", "status", "wchan"}) std::filesystem::create_directories(proc + "/7/" + name);
  EXPECT_TRUE(read_process_state(7, proc).dead());
  EXPECT_FALSE(catches_signal(7, SIGUSR1, proc));
  std::filesystem::remove_all(proc);
}

}  // namespace
}  // namespace eroica
