#include "agent/host_checks.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace eroica::testing {
namespace {

namespace fs = std::filesystem;

/// A /proc, a /sys and a /dev of our own.
class HostChecks : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/eroica-test-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    root_ = path;
    roots_ = {root_ + "/proc", root_ + "/sys", root_ + "/dev"};
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
  HostRoots roots_;
};

void expect_advice(const Check& check, CheckState state) {
  EXPECT_EQ(check.state, state) << check.found;
  EXPECT_FALSE(check.found.empty());
  EXPECT_EQ(check.cost.empty(), state == CheckState::kOk) << check.cost;
  EXPECT_EQ(check.remedy.empty(), state == CheckState::kOk) << check.remedy;
  EXPECT_EQ(check.remedy.find('\n'), std::string::npos);
}

TEST_F(HostChecks, NothingToBeSeenIsNoError) {
  expect_advice(check_cgroup(roots_), CheckState::kMissing);
  expect_advice(check_pressure(roots_), CheckState::kLimited);
  expect_advice(check_processes(roots_, false), CheckState::kOk);
  expect_advice(check_socket_queue(roots_), CheckState::kOk);
  expect_advice(check_clock(roots_), CheckState::kOk);
  expect_advice(check_perf(roots_, false), CheckState::kLimited);
  expect_advice(check_perf(roots_, true), CheckState::kOk);
  expect_advice(check_nvidia(roots_, ""), CheckState::kOk);
  expect_advice(check_amd(roots_, ""), CheckState::kOk);
}

TEST_F(HostChecks, ControlGroupsOfVersion2) {
  put("/sys/fs/cgroup/cgroup.controllers", "cpu memory");
  put("/proc/self/cgroup", "0::/jobs/job7\n");
  expect_advice(check_cgroup(roots_), CheckState::kLimited);
  put("/sys/fs/cgroup/jobs/job7/cpu.stat", "usage_usec 1\n");
  expect_advice(check_cgroup(roots_), CheckState::kLimited);
  put("/sys/fs/cgroup/jobs/job7/cpu.stat", "usage_usec 1\nnr_throttled 0\n");
  expect_advice(check_cgroup(roots_), CheckState::kOk);
  EXPECT_NE(check_cgroup(roots_).found.find("version 2"), std::string::npos);
}

TEST_F(HostChecks, ControlGroupsOfVersion1) {
  put("/proc/self/cgroup", "12:cpuset:/x\n4:cpu,cpuacct:/jobs\n1:name=systemd:/\n0::/\n");
  put("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
  expect_advice(check_cgroup(roots_), CheckState::kOk);
  EXPECT_NE(check_cgroup(roots_).found.find("version 1"), std::string::npos);
}

TEST_F(HostChecks, AContainerSeesItsGroupAsTheRoot) {
  put("/sys/fs/cgroup/cgroup.controllers", "cpu");
  put("/proc/self/cgroup", "0::/../../outside\n");
  put("/sys/fs/cgroup/cpu.stat", "nr_throttled 3\n");
  expect_advice(check_cgroup(roots_), CheckState::kOk);
}

TEST_F(HostChecks, HiddenProcesses) {
  put("/proc/self/mounts", "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n");
  expect_advice(check_processes(roots_, false), CheckState::kLimited);
  expect_advice(check_processes(roots_, true), CheckState::kOk);
  put("/proc/self/mounts", "proc /proc proc rw,hidepid=0 0 0\nproc /chroot/proc proc rw,hidepid=2 0 0\n");
  expect_advice(check_processes(roots_, false), CheckState::kOk);
}

TEST_F(HostChecks, WhatTheKernelIsSetTo) {
  put("/proc/sys/net/unix/max_dgram_qlen", "10\n");
  expect_advice(check_socket_queue(roots_), CheckState::kOk);
  put("/proc/sys/net/unix/max_dgram_qlen", "2\n");
  expect_advice(check_socket_queue(roots_), CheckState::kLimited);
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  expect_advice(check_clock(roots_), CheckState::kOk);
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  expect_advice(check_clock(roots_), CheckState::kLimited);
  put("/proc/sys/kernel/perf_event_paranoid", "3\n");
  EXPECT_EQ(check_perf(roots_, false).remedy, "sysctl kernel.perf_event_paranoid=2");
  put("/proc/sys/kernel/perf_event_paranoid", "2\n");
  EXPECT_NE(check_perf(roots_, false).remedy.find("seccomp"), std::string::npos);
  put("/proc/pressure/cpu", "some avg10=0.00\n");
  expect_advice(check_pressure(roots_), CheckState::kOk);
}

TEST_F(HostChecks, WhoMayLookIntoAProcess) {
  expect_advice(check_ptrace(roots_, true, false, "/usr/bin/py-spy"), CheckState::kOk);
  expect_advice(check_ptrace(roots_, true, false, ""), CheckState::kLimited);
  expect_advice(check_ptrace(roots_, false, true, "/usr/bin/py-spy"), CheckState::kLimited);
  put("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  expect_advice(check_ptrace(roots_, true, false, "/usr/bin/py-spy"), CheckState::kLimited);
  expect_advice(check_ptrace(roots_, true, true, "/usr/bin/py-spy"), CheckState::kOk);
  put("/proc/sys/kernel/yama/ptrace_scope", "3\n");
  expect_advice(check_ptrace(roots_, true, true, "/usr/bin/py-spy"), CheckState::kLimited);
}

TEST_F(HostChecks, DevicesWithoutTheirLibrary) {
  put("/dev/nvidiactl", "");
  put("/dev/kfd", "");
  expect_advice(check_nvidia(roots_, ""), CheckState::kMissing);
  expect_advice(check_nvidia(roots_, "libnvidia-ml.so.1"), CheckState::kOk);
  expect_advice(check_amd(roots_, ""), CheckState::kMissing);
  expect_advice(check_amd(roots_, "librocm_smi64.so.1"), CheckState::kOk);
}

TEST(HostCheck, DisksForTraces) {
  constexpr uint64_t kGb = 1'000'000'000;
  expect_advice(check_disk({"/tmp", 100 * kGb, EXT4_SUPER_MAGIC, 0}), CheckState::kOk);
  expect_advice(check_disk({"/tmp", 5 * kGb, EXT4_SUPER_MAGIC, 0}), CheckState::kLimited);
  expect_advice(check_disk({"/tmp", kGb / 2, EXT4_SUPER_MAGIC, 0}), CheckState::kMissing);
  expect_advice(check_disk({"/tmp", 100 * kGb, TMPFS_MAGIC, 0}), CheckState::kLimited);
  expect_advice(check_disk({"/tmp", 100 * kGb, NFS_SUPER_MAGIC, 0}), CheckState::kMissing);
  expect_advice(check_disk({"/none", 0, 0, ENOENT}), CheckState::kMissing);
}

TEST(HostCheck, Limits) {
  expect_advice(check_limits({4096, UINT64_MAX, UINT64_MAX}), CheckState::kOk);
  expect_advice(check_limits({256, UINT64_MAX, UINT64_MAX}), CheckState::kLimited);
  expect_advice(check_limits({4096, 1'000'000, UINT64_MAX}), CheckState::kLimited);
  expect_advice(check_limits({4096, UINT64_MAX, 65'536}), CheckState::kLimited);
}

}  // namespace
}  // namespace eroica::testing
