#include "sample/host_text.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(HostText, CpuTicks) {
  const auto cpus = parse_cpu_ticks(
      "cpu  100 10 40 800 20 3 7 20 5 0\ncpu0 60 10 20 400 10 3 7 20 0 0\ncpu3 40 0 20 400 10 0 0 0 0 0\n"
      "intr 12345 0 0\nctxt 99\n");
  ASSERT_EQ(cpus.size(), 3u);
  EXPECT_EQ(cpus[0].cpu, -1);
  EXPECT_EQ(cpus[0].work, 150u);
  EXPECT_EQ(cpus[0].busy, 180u);
  EXPECT_EQ(cpus[0].total, 1000u);
  EXPECT_EQ(cpus[0].softirq, 7u);
  EXPECT_EQ(cpus[0].steal, 20u);
  EXPECT_EQ(cpus[2].cpu, 3);
  // Before Linux 2.6.11 there was no stolen time.
  EXPECT_EQ(parse_cpu_ticks("cpu 1 1 1 1 1 1 1\n").size(), 1u);
  EXPECT_TRUE(parse_cpu_ticks("cpu 1 1 1\n").empty());
  EXPECT_TRUE(parse_cpu_ticks("").empty());
}

TEST(HostText, Pressure) {
  EXPECT_EQ(parse_pressure_us("some avg10=0.22 avg60=0.17 avg300=1.11 total=58761459\nfull avg10=0 total=9\n"),
            58761459u);
  EXPECT_FALSE(parse_pressure_us("full avg10=0 total=9\n"));
  EXPECT_FALSE(parse_pressure_us("some avg10=0 total=\n"));
}

TEST(HostText, DisksOfOldAndNewKernels) {
  const auto disks = parse_disks(
      " 254       0 vda 31952 8664 2981106 44037 26588 49607 5606592 30798 0 21988 76090 4546 22 723632 1172 1120 82\n"
      "   8       1 sda1 10 0 80 5 20 0 160 15 0 12 20\n"
      "   8       2 old 1 2 3 4\n");
  ASSERT_EQ(disks.size(), 2u);
  EXPECT_EQ(disks[0].name, "vda");
  EXPECT_EQ(disks[0].requests, 31952u + 26588u);
  EXPECT_EQ(disks[0].read_bytes, 2981106u * 512);
  EXPECT_EQ(disks[0].written_bytes, 5606592u * 512);
  EXPECT_EQ(disks[0].request_ms, 44037u + 30798u);
  EXPECT_EQ(disks[0].busy_ms, 21988u);
  EXPECT_EQ(disks[1].busy_ms, 12u);
}

TEST(HostText, Nics) {
  const auto nics = parse_nics(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls\n"
      "    lo:    3293      31    0    0    0     0          0         0     3293      31    0    0    0     0  0 0\n"
      "  eth0:149887932    3287    1    2    0     0          0         0   229162    2179    3    4    0     0 0 0\n");
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[1].name, "eth0");
  EXPECT_EQ(nics[1].received_bytes, 149887932u);
  EXPECT_EQ(nics[1].sent_bytes, 229162u);
  EXPECT_EQ(nics[1].errors, 4u);
  EXPECT_EQ(nics[1].drops, 6u);
}

TEST(HostText, CallsToNfsServers) {
  const RemoteCalls calls = parse_remote_calls(
      "device /dev/vda mounted on / with fstype ext4\n"
      "device store:/data mounted on /data with fstype nfs4 statvers=1.1\n"
      "\topts:\trw,vers=4.2\n\tage:\t12\n"
      "\tper-op statistics\n"
      "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
      "\t        READ: 100 100 0 21600 4100000 3 250 260 0\n"
      "\t       WRITE: 0 0 0 0 0 0 0 0\n"
      "device proc mounted on /proc with fstype proc\n"
      "\t        READ: 7 7 7 7 7 7 7 7\n");
  EXPECT_EQ(calls.mounts, 1u);
  EXPECT_EQ(calls.calls, 101u);
  EXPECT_EQ(calls.round_trip_ms, 250u);
  EXPECT_EQ(parse_remote_calls("device x mounted on / with fstype ext4\n").mounts, 0u);
}

TEST(HostText, MountsOfOtherMachines) {
  const std::string local =
      "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n30 25 0:27 / /dev/shm rw shared:3 - tmpfs tmpfs rw\n"
      "33 25 0:30 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n";
  EXPECT_FALSE(has_remote_mounts(local));
  EXPECT_TRUE(has_remote_mounts(local + "40 1 0:33 / /data rw - nfs4 store:/data rw\n"));
  EXPECT_TRUE(has_remote_mounts(local + "40 1 0:33 / /data rw - fuse.s3fs s3fs rw\n"));
  EXPECT_FALSE(has_remote_mounts("broken"));
}

}  // namespace
}  // namespace eroica
