#include "cli/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace eroica {
namespace {

TEST(ThreadExecutor, RunsEveryIndexOnce) {
  for (const size_t threads : {0, 1, 2, 7}) {
    ThreadExecutor executor(threads);
    std::vector<std::atomic<int>> runs(100);
    executor.parallel_for(runs.size(), [&](size_t i) { ++runs[i]; });
    for (const auto& run : runs) EXPECT_EQ(run, 1);
  }
}

TEST(ThreadExecutor, NothingToDoIsFine) {
  ThreadExecutor executor(4);
  executor.parallel_for(0, [](size_t) { FAIL(); });
}

TEST(ThreadExecutor, OneThreadTakesThemInOrder) {
  ThreadExecutor executor(1);
  std::vector<size_t> seen;
  executor.parallel_for(5, [&](size_t i) { seen.push_back(i); });
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadExecutor, NeverRunsMoreAtOnceThanItHasThreads) {
  ThreadExecutor executor(3);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  executor.parallel_for(200, [&](size_t) {
    const int now = ++running;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::yield();
    --running;
  });
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 1);
}

TEST(ThreadExecutor, FailureReachesTheCallerAndStopsTheRest) {
  ThreadExecutor executor(2);
  std::atomic<int> runs{0};
  const auto body = [&](size_t i) {
    ++runs;
    if (i == 3) throw std::runtime_error("third");
  };
  EXPECT_THROW(executor.parallel_for(1'000'000, body), std::runtime_error);
  EXPECT_LT(runs, 1'000'000);
}

TEST(AvailableCores, IsAtLeastOne) { EXPECT_GE(available_cores(), 1u); }

}  // namespace
}  // namespace eroica
