#include "sample/host_sampler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/clocks.h"
#include "trace/byte_source.h"
#include "trace/samples.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'790'000'000 * kSecond;

/// A machine made of files.
class Machine {
 public:
  Machine() {
    std::string pattern = (fs::temp_directory_path() / "eroica-machine-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    fs::create_symlink(target, root_ + path);
  }

  struct Process {
    int pid;
    int parent;
    std::string name = "python3";
    char state = 'S';
    uint64_t run_ms = 0;
    uint64_t wait_ms = 0;
  };
  void process(const Process& p) const {
    const std::string stat =
        fmt::format("{} ({}) {} {} 1 1 0 -1 0 9 0 0 0 {} 0 0 0 20 0 2 0 77 1000 50 0\n", p.pid, p.name, p.state,
                    p.parent, p.run_ms * static_cast<uint64_t>(sysconf(_SC_CLK_TCK)) / 1000);
    const std::string folder = fmt::format("/proc/{}/", p.pid);
    write(folder + "stat", stat);
    for (const int thread : {p.pid, p.pid + 1}) {
      const std::string task = fmt::format("{}task/{}/", folder, thread);
      write(task + "stat", stat);
      write(task + "comm", thread == p.pid ? p.name + "\n" : "NCCL Progress\n");
      write(task + "schedstat", fmt::format("{} {} 1\n", p.run_ms * 1'000'000, p.wait_ms * 1'000'000));
    }
    write(folder + "io", "read_bytes: 0\nwrite_bytes: 0\n");
    write(folder + "status", "Cpus_allowed:\t3\n");
  }

  [[nodiscard]] SystemFiles files() const { return SystemFiles(root_); }

 private:
  std::string root_;
};

const SampledJob kJob{"node", {{0, 100, "node"}, {1, 200, "node"}}, 10};

/// The value that a series has last, to nine decimals; absent: there is no such series, or it is empty.
std::optional<double> last(const HostSampler& sampler, const std::string& entity, const std::string& metric) {
  for (const SampleSeries& series : sampler.samples().series) {
    if (series.entity == entity && series.metric == metric && !series.samples.empty()) {
      return std::round(series.samples.back().value * 1e9) / 1e9;
    }
  }
  return std::nullopt;
}

int64_t free_of_charge() { return 0; }

TEST(HostSampler, RanksAndTheirThreads) {
  const Machine machine;
  machine.process({.pid = 100, .parent = 10});
  machine.process({.pid = 200, .parent = 10});
  HostSampler sampler(machine.files(), kJob, free_of_charge);
  sampler.sample(kBegin);
  machine.process({.pid = 100, .parent = 10, .state = 'D', .run_ms = 300, .wait_ms = 500});
  sampler.finish(kBegin + kSecond);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.main_thread_run"), 0.3);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.main_thread_runnable_wait"), 0.5);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.run"), 0.6);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.runnable_wait"), 1.0);
  EXPECT_EQ(last(sampler, "rank 0/thread NCCL Progress", "cpu.runnable_wait"), 0.5);
  EXPECT_EQ(last(sampler, "rank 0", "io.blocked"), 1.0);
  EXPECT_EQ(last(sampler, "rank 1", "io.blocked"), 0.0);
  EXPECT_EQ(last(sampler, "rank 1", "cpu.run"), 0.0);
  EXPECT_EQ(last(sampler, "rank 1", "cpu.allowed"), 2.0);
  EXPECT_EQ(last(sampler, "rank 1", "process.threads"), 2.0);
}

/// Tells of one thread what it is given.
class PlayedSwitches : public SwitchFeed {
 public:
  explicit PlayedSwitches(pid_t tid) : tid_(tid) {}
  bool take(int64_t /*until_ns*/, std::vector<Switch>& into) override {
    into.insert(into.end(), next.begin(), next.end());
    next.clear();
    return true;
  }
  [[nodiscard]] uint64_t lost() const override { return 3; }
  [[nodiscard]] bool tells_of(pid_t tid) const override { return tid == tid_; }
  [[nodiscard]] bool tells_others() const override { return true; }
  [[nodiscard]] const std::string& problem() const override { return problem_; }

  std::vector<Switch> next;

 private:
  pid_t tid_;
  std::string problem_ = "told by a test";
};

TEST(HostSampler, SwitchesSplitTheTimeOfATrainingThreadAndNameTheNeighbour) {
  constexpr int64_t kMs = 1'000'000;
  const Machine machine;
  machine.process({.pid = 100, .parent = 10});
  machine.process({.pid = 200, .parent = 10});
  machine.process({.pid = 300, .parent = 1, .name = "stress"});
  machine.write("/proc/300/comm", "stress\n");
  machine.write("/proc/300/cgroup", "0::/user.slice\n");
  const auto switches = std::make_shared<PlayedSwitches>(100);
  HostSampler sampler(machine.files(), kJob, free_of_charge, {}, switches);
  sampler.sample(kBegin);
  const int64_t begin_ns = monotonic_ns();
  using Kind = Switch::Kind;
  switches->next = {{begin_ns + 10 * kMs, Kind::kPreempted, 100, 300}, {begin_ns + 30 * kMs, Kind::kOn, 100, 300},
                    {begin_ns + 40 * kMs, Kind::kPreempted, 100, 100}, {begin_ns + 50 * kMs, Kind::kOn, 100, 100},
                    {begin_ns + 60 * kMs, Kind::kOff, 100, 0},         {begin_ns + 61 * kMs, Kind::kOn, 100, 0}};
  machine.process({.pid = 100, .parent = 10, .run_ms = 70, .wait_ms = 30});
  machine.process({.pid = 200, .parent = 10, .run_ms = 500});
  sampler.finish(kBegin + kSecond);
  double preempted_s = 0;
  for (const SampleSeries& series : sampler.samples().series) {
    if (series.entity != "rank 0" || series.metric != "cpu.main_thread_preempted") continue;
    for (size_t i = 1; i < series.samples.size(); ++i) {
      preempted_s += series.samples[i].value *
                     static_cast<double>(series.samples[i].time_ns - series.samples[i - 1].time_ns) * 1e-9;
    }
  }
  EXPECT_NEAR(preempted_s, 0.03, 0.002);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.main_thread_wait_foreign"), 0.02);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.main_thread_wait_own"), 0.01);
  EXPECT_EQ(last(sampler, "rank 1", "cpu.main_thread_run"), 0.5);  // as booked
  EXPECT_EQ(last(sampler, "rank 1", "cpu.main_thread_preempted"), std::nullopt);
  const SourceFindings findings = sampler.findings();
  ASSERT_EQ(findings.neighbours.size(), 1U);
  EXPECT_EQ(findings.neighbours[0].rank, 0);
  EXPECT_EQ(findings.neighbours[0].pid, 300);
  EXPECT_EQ(findings.neighbours[0].name, "stress");
  EXPECT_EQ(findings.neighbours[0].cgroup, "/user.slice");
  EXPECT_NEAR(findings.neighbours[0].waited_s, 0.02, 1e-9);
  EXPECT_THAT(findings.missing, ::testing::Contains("3 switches of threads: they came faster than they were read"));
  EXPECT_THAT(findings.missing, ::testing::Contains("who had the CPU that a rank waited for (told by a test)"));
}

TEST(HostSampler, ThrottledTimeOfVersion1) {
  const Machine machine;
  machine.process({.pid = 100, .parent = 10});
  machine.process({.pid = 200, .parent = 10});
  machine.write("/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  machine.write("/proc/100/cgroup", "1:cpu:/slow\n");
  machine.write("/proc/200/cgroup", "1:cpu:/\n");
  const auto throttled = [&](int ms) {
    machine.write("/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    machine.write("/sys/fs/cgroup/cpu/slow/cpu.stat",
                  fmt::format("nr_periods 9\nnr_throttled 7\nthrottled_time {}\n", ms * 1'000'000));
  };
  throttled(50);
  HostSampler sampler(machine.files(), kJob, free_of_charge);
  sampler.sample(kBegin);
  throttled(800);
  sampler.finish(kBegin + kSecond);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.throttled"), 0.75);
  EXPECT_EQ(last(sampler, "rank 1", "cpu.throttled"), 0.0);
}

TEST(HostSampler, AQuotaAroundTheGroupAndMemoryOfVersion2) {
  const Machine machine;
  machine.process({.pid = 100, .parent = 10});
  machine.write("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  machine.write("/proc/100/cgroup", "0::/pod/rank\n");
  const auto tell = [&](int usec, int refaults, int hits) {
    machine.write("/sys/fs/cgroup/pod/rank/cpu.stat", "usage_usec 1\nnr_periods 0\nthrottled_usec 0\n");
    machine.write("/sys/fs/cgroup/pod/cpu.stat", fmt::format("usage_usec 1\nnr_periods 4\nthrottled_usec {}\n", usec));
    machine.write("/sys/fs/cgroup/pod/rank/memory.stat", fmt::format("anon 1\nworkingset_refault_file {}\n", refaults));
    machine.write("/sys/fs/cgroup/pod/rank/memory.events", fmt::format("low 0\nhigh 0\nmax {}\n", hits));
  };
  tell(0, 10, 1);
  HostSampler sampler(machine.files(), {"node", {{0, 100, "node"}}, 10}, free_of_charge);
  sampler.sample(kBegin);
  tell(250'000, 90, 5);
  sampler.finish(kBegin + kSecond);
  EXPECT_EQ(last(sampler, "rank 0", "cpu.throttled"), 0.25);
  EXPECT_EQ(last(sampler, "rank 0", "memory.refaults"), 80.0);
  EXPECT_EQ(last(sampler, "rank 0", "memory.limit_hits"), 4.0);
}

TEST(HostSampler, TheHost) {
  const Machine machine;
  const auto tell = [&](int work, int softirq, int idle, int pressure_us, int swapped, const std::string& disk) {
    machine.write("/proc/stat",
                  fmt::format("cpu {0} 0 0 {2} 0 0 {1} 0 0 0\ncpu0 {0} 0 0 {2} 0 0 {1} 0 0 0\n", work, softirq, idle));
    machine.write("/proc/pressure/io", fmt::format("some avg10=0 total={}\n", pressure_us));
    machine.write("/proc/vmstat", fmt::format("pswpin {}\ncompact_stall 0\n", swapped));
    machine.write("/proc/diskstats", disk);
  };
  machine.write("/sys/block/nvme0n1/size", "1");
  machine.write("/sys/block/loop0/size", "1");
  machine.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
  tell(100, 0, 100, 0, 0, "259 0 nvme0n1 10 0 80 10 0 0 0 0 0 10 10\n7 0 loop0 9 0 9 9 9 9 9 9 9 9 9\n");
  HostSampler sampler(machine.files(), kJob, free_of_charge);
  sampler.sample(kBegin);
  tell(160, 20, 120, 400'000, 8, "259 0 nvme0n1 30 0 2128 90 0 0 0 0 0 510 90\n7 0 loop0 10 0 9 9 9 9 9 9 9 9 9\n");
  sampler.finish(kBegin + kSecond);
  EXPECT_EQ(last(sampler, "host node", "cpu.busy"), 0.8);
  EXPECT_EQ(last(sampler, "host node", "cpu.softirq"), 0.2);
  EXPECT_EQ(last(sampler, "host node/cpu0", "cpu.softirq"), 0.2);
  EXPECT_EQ(last(sampler, "host node", "pressure.io"), 0.4);
  EXPECT_EQ(last(sampler, "host node", "memory.swap_in"), 8.0);
  EXPECT_EQ(last(sampler, "host node", "cpu.frequency"), 2.4e9);
  EXPECT_EQ(last(sampler, "host node/disk nvme0n1", "disk.read"), 2048.0 * 512);
  EXPECT_EQ(last(sampler, "host node/disk nvme0n1", "disk.await"), 4.0);
  EXPECT_EQ(last(sampler, "host node/disk nvme0n1", "disk.busy"), 0.5);
  EXPECT_EQ(last(sampler, "host node/disk loop0", "disk.read"), std::nullopt);
}

TEST(HostSampler, StrangersAndWorkers) {
  const Machine machine;
  const auto ticks = [](int ms) { return ms * sysconf(_SC_CLK_TCK) / 1000; };
  machine.write("/proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\n");
  machine.process({.pid = 10, .parent = 1, .name = "eroica"});
  machine.process({.pid = 50, .parent = 10, .name = "torchrun"});
  machine.process({.pid = 100, .parent = 50});
  machine.process({.pid = 102, .parent = 100});
  machine.process({.pid = 104, .parent = 100, .name = "sh"});
  machine.process({.pid = 900, .parent = 1, .name = "backup"});
  machine.write("/proc/900/cgroup", "1:cpu:/\n0::/system.slice/backup.service\n");
  HostSampler sampler(machine.files(), {"node", {{0, 100, "node"}}, 10}, free_of_charge);
  sampler.sample(kBegin);
  machine.write("/proc/stat", fmt::format("cpu {} 0 0 0 0 0 0 0 0 0\n", ticks(1500)));
  machine.process({.pid = 100, .parent = 50, .run_ms = 600});
  machine.process({.pid = 102, .parent = 100, .run_ms = 100});
  machine.process({.pid = 900, .parent = 1, .name = "backup", .run_ms = 800});
  sampler.finish(kBegin + kSecond);
  EXPECT_NEAR(last(sampler, "host node", "cpu.foreign").value_or(-1), 0.8, 1e-9);
  EXPECT_EQ(last(sampler, "rank 0/worker 0", "cpu.run"), 0.0);  // known since the last reading alone
  EXPECT_EQ(last(sampler, "rank 0/worker 1", "cpu.run"), std::nullopt);
  const auto foreign = sampler.foreign(3, 0.2);
  ASSERT_EQ(foreign.size(), 1u);
  EXPECT_EQ(foreign[0].name, "backup");
  EXPECT_EQ(foreign[0].pid, 900);
  EXPECT_EQ(foreign[0].cgroup, "/system.slice/backup.service");
  EXPECT_NEAR(foreign[0].cores, 0.8, 1e-9);
}

TEST(HostSampler, InterfacesOfTheMachineAndOfAContainer) {
  const Machine machine;
  machine.link("/proc/self/ns/net", "net:[1]");
  machine.link("/proc/100/ns/net", "net:[1]");
  machine.link("/proc/200/ns/net", "net:[2]");
  const auto tell = [&](int pid, const std::string& nic, int sent) {
    machine.write(
        fmt::format("/proc/{}/net/dev", pid),
        fmt::format("lo: 9 0 0 0 0 0 0 0 {1} 0 0 0 0\n{0}: 9 0 0 0 0 0 0 0 {1} 0 0 0 0\nveth7: 9 0 0 0 0 0 0 0 {1} "
                    "0 0 0 0\n",
                    nic, sent));
  };
  machine.write("/sys/class/net/bond0/bonding/slaves", "eth0 eth1\n");
  machine.write("/sys/class/net/eth0/carrier", "1\n");
  machine.write("/sys/class/net/eth1/carrier", "0\n");
  machine.write("/sys/class/net/bond0/speed", "25000\n");
  machine.write("/proc/200/root/sys/class/net/inner/speed", "-1\n");
  tell(100, "bond0", 0);
  tell(200, "inner", 0);
  HostSampler sampler(machine.files(), {"node", {{0, 100, "node"}, {1, 200, "box"}}, 10}, free_of_charge);
  sampler.sample(kBegin);
  tell(100, "bond0", 1000);
  tell(200, "inner", 3000);
  sampler.finish(kBegin + kSecond);
  EXPECT_EQ(last(sampler, "host node/nic bond0", "net.transmit"), 1000.0);
  EXPECT_EQ(last(sampler, "host box/nic inner", "net.transmit"), 3000.0);
  EXPECT_EQ(last(sampler, "host node/nic lo", "net.transmit"), std::nullopt);
  EXPECT_EQ(last(sampler, "host node/nic veth7", "net.transmit"), std::nullopt);
  sampler.finish(kBegin + 2 * kSecond);
  for (int i = 0; i < 20; ++i) sampler.finish(kBegin + (3 + i) * kSecond);
  EXPECT_EQ(last(sampler, "host node/nic bond0", "net.speed"), 25e9);
  EXPECT_EQ(last(sampler, "host node/nic bond0", "net.members_up"), 1.0);
  EXPECT_EQ(last(sampler, "host box/nic inner", "net.speed"), std::nullopt);
}

TEST(HostSampler, WhatCostsMuchIsReadLessOften) {
  const Machine machine;
  machine.process({.pid = 100, .parent = 10});
  int64_t spent_ns = 0;
  // Every look at the clock is another 50 µs.
  HostSampler sampler(machine.files(), kJob, [&] { return spent_ns += 50'000; });
  int64_t now = kBegin;
  while (now < kBegin + 10 * kSecond) now = std::max(now + 1'000'000, sampler.sample(now));
  EXPECT_LT(sampler.cost_share(), 0.02);
  EXPECT_GT(sampler.cost_share(), 0.001);
  EXPECT_GT(sampler.count(), 100u);
}

TEST(HostSampler, AnEmptyMachineTellsNothingAndSaysSo) {
  const Machine machine;
  HostSampler sampler(machine.files(), kJob, free_of_charge);
  sampler.sample(kBegin);
  sampler.finish(kBegin + kSecond);
  EXPECT_EQ(sampler.count(), 0u);
  EXPECT_THAT(sampler.findings().missing, ::testing::Not(::testing::IsEmpty()));
}

TEST(SampleLog, WhatItWritesIsReadAlike) {
  SampleLog log;
  log.at(kBegin + 5);
  log.growth("rank 0", "cpu.run", "cores", 7);
  log.level("host \"a\\b\"", "memory.rss", "bytes", 123456789012.0);
  log.at(kBegin + kSecond / 2);
  log.growth("rank 0", "cpu.run", "cores", 8);
  const std::string text = samples_json(log.samples());
  const Result<SampleFile> read = read_samples(memory_source(text));
  ASSERT_TRUE(read.ok());
  SampleSet sorted;
  merge_samples(sorted, log.samples());
  SampleSet again;
  merge_samples(again, read->samples);
  ASSERT_EQ(again.series.size(), 2u);
  EXPECT_EQ(again.base_unix_ns, kBegin);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again.series[i].entity, sorted.series[i].entity);
    EXPECT_EQ(again.series[i].unit, sorted.series[i].unit);
    ASSERT_EQ(again.series[i].samples.size(), sorted.series[i].samples.size());
    for (size_t k = 0; k < again.series[i].samples.size(); ++k) {
      EXPECT_EQ(again.series[i].samples[k].time_ns, sorted.series[i].samples[k].time_ns);
      EXPECT_DOUBLE_EQ(again.series[i].samples[k].value, sorted.series[i].samples[k].value);
    }
  }
}

TEST(SampleLog, KeepsNoMoreThanItMay) {
  SampleLog log(10);
  for (int i = 0; i < 25; ++i) {
    log.at(kBegin + i);
    log.level("rank 0", "memory.rss", "bytes", i);
  }
  EXPECT_EQ(log.count(), 10u);
  EXPECT_EQ(log.lost(), 15u);
}

TEST(SampleLog, ACounterThatBeganAnewGivesNothing) {
  SampleLog log;
  int64_t now = kBegin;
  for (const uint64_t counter : {100, 160, 20, 50}) {
    log.at(now += kSecond);
    log.growth("rank 0", "disk.read", "bytes_per_s", counter);
  }
  ASSERT_EQ(log.samples().series.size(), 1u);
  std::vector<double> values;
  for (const Sample& sample : log.samples().series[0].samples) values.push_back(sample.value);
  EXPECT_THAT(values, ::testing::ElementsAre(0, 60, 30));
}

}  // namespace
}  // namespace eroica
