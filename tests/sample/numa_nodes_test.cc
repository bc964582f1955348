#include "sample/numa_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample/nvml_library.h"
#include "support/sampled_gpus.h"

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CpuList, RangesAndSingleOnes) {
  EXPECT_THAT(parse_cpu_list("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(parse_cpu_list("\n"), IsEmpty());
  EXPECT_THAT(parse_cpu_list("x,3-,-5,7-2,99999999999,0-99999999"), IsEmpty());
}

class NumaTest : public SampledGpus {
 protected:
  void put(const std::string& path, const std::string& text) const {
    const std::string whole = files().path(path);
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    std::ofstream(whole) << text;
  }
  void run_on(int cpu) const {
    put("/proc/100/task/100/stat",
        fmt::format(
            "100 (python3) R 1 1 1 0 -1 0 9 0 0 0 0 0 0 0 20 0 2 0 77 1000 50 0 1 1 0 0 0 0 0 0 0 0 0 0 17 {} 0\n",
            cpu));
  }
};

TEST_F(NumaTest, ARankAwayFromItsGpu) {
  const StandIn library("nvml", "libnvidia-ml.so.1",
                        "device GPU-11 00000000:17:00.0 NVIDIA H100\nset sm_mhz 0 1\nprocess 100 5\n");
  put("/sys/devices/system/node/node0/cpulist", "0-3\n");
  put("/sys/devices/system/node/node1/cpulist", "4-7\n");
  put("/sys/bus/pci/devices/0000:17:00.0/numa_node", "1\n");
  const auto feed =
      std::make_shared<GpuFeed>([path = library.path()](CallWatch& watch) { return nvml_library(watch, path); });
  run_on(2);
  sample(library, feed, job());
  EXPECT_EQ(last("cpu.remote_numa", "rank 0"), 1);
  run_on(6);
  sample(library, feed, job());
  EXPECT_EQ(last("cpu.remote_numa", "rank 0"), 0);
  run_on(77);  // of no node that is known
  sample(library, feed, job());
  EXPECT_EQ(last("cpu.remote_numa", "rank 0"), std::nullopt);
}

TEST_F(NumaTest, DevicesAsDriversWriteThem) {
  put("/sys/bus/pci/devices/0000:c1:00.0/numa_node", "-1\n");
  put("/sys/bus/pci/devices/0001:c1:00.0/numa_node", "3\n");
  EXPECT_EQ(node_of_device(files(), "0001:C1:00.0"), 3);
  EXPECT_EQ(node_of_device(files(), "00000001:c1:00.0"), 3);
  EXPECT_EQ(node_of_device(files(), "0000:c1:00.0"), std::nullopt);
  EXPECT_EQ(node_of_device(files(), "0000:c2:00.0"), std::nullopt);
  EXPECT_EQ(node_of_device(files(), "../0001:c1:00.0"), std::nullopt);
  EXPECT_EQ(node_of_device(files(), ""), std::nullopt);
}

}  // namespace
}  // namespace eroica::testing
