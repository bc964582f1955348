// What the samplers of a window cost: this machine's counters of eight ranks at 100 Hz, and the records of switches of
// a thread that switches 20,000 times a second.
//
//   cmake --build --preset release --target bench && build/release/bench/sampler_bench [SECONDS]
//
// Ranks are processes of this program that wake up 200 times a second; the one that switches passes a byte to and fro
// with another on the same CPU. `cores` is the CPU time of the reading thread over the time; what records cost the
// thread that is recorded is told by how long its rounds take with and without them.

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "sample/host_sampler.h"
#include "sample/perf_switches.h"

namespace {

using namespace eroica;  // NOLINT(google-build-using-namespace)

constexpr int kRanks = 8;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kRoundNs = 50'000;

/// A child that does so until it is killed.
template <typename Body>
pid_t child(const Body& body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  _exit(0);
}

void kill_all(const std::vector<pid_t>& children) {
  for (const pid_t pid : children) kill(pid, SIGKILL);
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
}

void sleep_and_work() {
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    for (const int64_t until_ns = monotonic_ns() + 200'000; monotonic_ns() < until_ns;) {
    }
  }
}

/// Two processes on one CPU that wake each other, `per_second` times each, or as often as they can (0); rounds so far
/// in shared memory.
struct PingPong {
  explicit PingPong(int64_t per_second) {
    if (pipe(to.data()) != 0 || pipe(from.data()) != 0 || pipe(count.data()) != 0) std::exit(1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    echo = child([this] {
      for (char c = 0; read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1;) {
      }
    });
    ball = child([this, per_second] {
      int64_t rounds = 0;
      const int64_t begin_ns = monotonic_ns();
      for (char c = 0; write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1; ++rounds) {
        if (rounds % 1000 == 0 && write(count[1], &rounds, sizeof rounds) < 0) return;
        while (per_second > 0 && monotonic_ns() < begin_ns + rounds * (kSecond / per_second)) {
        }
      }
    });
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;
  ~PingPong() { kill_all({ball, echo}); }

  /// Rounds a second over so many seconds.
  double rounds(double seconds) {
    int64_t before = 0;
    int64_t now = 0;
    const auto next = [&] { return read(count[0], &now, sizeof now) == sizeof now; };
    if (!next()) return 0;
    before = now;
    const int64_t begin_ns = monotonic_ns();
    while (static_cast<double>(monotonic_ns() - begin_ns) < seconds * 1e9 && next()) {
    }
    return static_cast<double>(now - before) * 1e9 / static_cast<double>(monotonic_ns() - begin_ns);
  }

  std::array<int, 2> to{};
  std::array<int, 2> from{};
  std::array<int, 2> count{};
  pid_t ball = -1;
  pid_t echo = -1;
};

void sample(const char* what, const SampledJob& job, const std::shared_ptr<SwitchFeed>& switches, double seconds) {
  HostSampler sampler(SystemFiles(), job, thread_cpu_ns, {}, switches);
  const int64_t begin_ns = unix_ns();
  const int64_t cpu_ns = thread_cpu_ns();
  while (unix_ns() < begin_ns + static_cast<int64_t>(seconds * 1e9)) {
    const int64_t next_ns = sampler.sample(unix_ns());
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<int64_t>(0, next_ns - unix_ns())));
  }
  sampler.finish(unix_ns());
  const double passed_ns = static_cast<double>(unix_ns() - begin_ns);
  fmt::print("{:<58} {:.4f} cores, {} samples, {} records lost\n", what,
             static_cast<double>(thread_cpu_ns() - cpu_ns) / passed_ns, sampler.count(),
             switches == nullptr ? 0 : switches->lost());
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  SampledJob ranks{"bench", {}, getpid()};
  std::vector<pid_t> pids;
  for (int i = 0; i < kRanks; ++i) {
    pids.push_back(child(sleep_and_work));
    ranks.ranks.push_back({.rank = i, .pid = pids.back(), .host = "bench"});
  }
  sample("8 ranks, what the scheduler books", ranks, nullptr, seconds);
  sample("8 ranks, their switches", ranks, perf_thread_switches(pids), seconds);
  sample("8 ranks, switches of all CPUs", ranks, perf_switches(pids), seconds);
  kill_all(pids);
  {
    PingPong pair(kSecond / kRoundNs);  // in each round either goes off its CPU and on again once
    const SampledJob job{"bench", {{.rank = 0, .pid = pair.ball, .host = "bench"}}, getpid()};
    sample("20,000 switches a second, of the thread", job, perf_thread_switches({pair.ball}), seconds);
    sample("20,000 switches a second, of all CPUs", job, perf_switches({pair.ball}), seconds);
  }
  PingPong free(0);
  const double without = free.rounds(seconds / 2);
  double of_thread = 0;
  double of_all = 0;
  {
    const std::unique_ptr<SwitchFeed> feed = perf_thread_switches({free.ball});
    of_thread = free.rounds(seconds / 2);
  }
  {
    const std::unique_ptr<SwitchFeed> feed = perf_switches({free.ball});
    of_all = free.rounds(seconds / 2);
  }
  fmt::print("a round in which two threads switch: {:.2f} us; recorded by thread {:.2f} us, on all CPUs {:.2f} us\n",
             1e6 / without, 1e6 / of_thread, 1e6 / of_all);
  return 0;
}
