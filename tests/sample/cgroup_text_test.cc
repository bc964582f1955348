#include "sample/cgroup_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kVersion1 =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
constexpr const char* kVersion2 = "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kHybrid =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "44 31 0:35 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
// A container without a namespace of its own for groups.
constexpr const char* kContainer =
    "700 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro master:9 - cgroup cgroup rw,cpu\n"
    "701 31 0:30 /docker/abc /sys/fs/cgroup/with\\040blank ro - cgroup cgroup rw,memory\n";

CgroupFolders folders(const char* mounts, const char* membership, const char* controller) {
  return cgroup_folders(parse_cgroup_mounts(mounts), parse_cgroup_membership(membership), controller);
}

TEST(CgroupText, FoldersOfVersion1) {
  const char* of = "9:name=systemd:/\n4:memory:/jobs\n1:cpu,cpuacct:/jobs/a:b/rank0\n0::/\n";
  const CgroupFolders cpu = folders(kVersion1, of, "cpu");
  EXPECT_FALSE(cpu.version_2);
  EXPECT_THAT(cpu.folders,
              ElementsAre("/sys/fs/cgroup/cpu,cpuacct/jobs/a:b/rank0", "/sys/fs/cgroup/cpu,cpuacct/jobs/a:b",
                          "/sys/fs/cgroup/cpu,cpuacct/jobs", "/sys/fs/cgroup/cpu,cpuacct"));
  EXPECT_THAT(folders(kVersion1, of, "memory").folders,
              ElementsAre("/sys/fs/cgroup/memory/jobs", "/sys/fs/cgroup/memory"));
  EXPECT_THAT(folders(kVersion1, of, "cpuset").folders, IsEmpty());
}

TEST(CgroupText, FoldersOfVersion2) {
  const CgroupFolders cpu = folders(kVersion2, "0::/user.slice/job.scope\n", "cpu");
  EXPECT_TRUE(cpu.version_2);
  EXPECT_THAT(cpu.folders,
              ElementsAre("/sys/fs/cgroup/user.slice/job.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"));
}

TEST(CgroupText, FoldersOfBothVersionsAtOnce) {
  const char* of = "1:cpu:/old\n0::/new\n";
  EXPECT_THAT(folders(kHybrid, of, "cpu").folders, ElementsAre("/sys/fs/cgroup/cpu/old", "/sys/fs/cgroup/cpu"));
  const CgroupFolders memory = folders(kHybrid, of, "memory");
  EXPECT_TRUE(memory.version_2);
  EXPECT_THAT(memory.folders, ElementsAre("/sys/fs/cgroup/unified/new", "/sys/fs/cgroup/unified"));
}

TEST(CgroupText, FoldersInAContainer) {
  const char* of = "1:cpu:/docker/abc/inner\n4:memory:/docker/abc\n";
  EXPECT_THAT(folders(kContainer, of, "cpu").folders, ElementsAre("/sys/fs/cgroup/cpu/inner", "/sys/fs/cgroup/cpu"));
  EXPECT_THAT(folders(kContainer, of, "memory").folders, ElementsAre("/sys/fs/cgroup/with blank"));
  // Seen from within, a process outside has a path upwards, which is nobody's business here.
  EXPECT_THAT(folders(kContainer, "1:cpu:/../..\n", "cpu").folders, IsEmpty());
}

TEST(CgroupText, AVeryDeepGroupIsCut) {
  std::string of = "0::";
  for (int i = 0; i < 1000; ++i) of += "/x";
  EXPECT_EQ(folders(kVersion2, of.c_str(), "cpu").folders.size(), 32u);
}

TEST(CgroupText, ThrottledTime) {
  EXPECT_EQ(parse_throttled_ns("nr_periods 10\nnr_throttled 4\nthrottled_time 123\n"), 123u);
  EXPECT_EQ(parse_throttled_ns("usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 7\nnr_bursts 0\n"), 7000u);
  EXPECT_FALSE(parse_throttled_ns("usage_usec 5\nuser_usec 1\nsystem_usec 4\n"));
}

TEST(CgroupText, MemoryEvents) {
  EXPECT_EQ(parse_limit_hits("low 0\nhigh 2\nmax 5\noom 0\noom_kill 0\n"), 7u);
  EXPECT_FALSE(parse_limit_hits(""));
  EXPECT_EQ(parse_refaults("anon 1\nworkingset_refault_anon 3\nworkingset_refault_file 9\n"), 9u);
  EXPECT_EQ(parse_refaults("anon 1\nworkingset_refault 4\n"), 4u);
  EXPECT_FALSE(parse_refaults("cache 1\nrss 2\n"));
}

}  // namespace
}  // namespace eroica
