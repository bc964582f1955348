#include "simulate/transfer_time.h"

#include <gtest/gtest.h>

#include "simulate/physics.h"

namespace eroica {
namespace {

Plant two_hosts() {
  JobWishes wishes;
  wishes.layout = {4, 1, 1, 1};
  JobSpec job = draw_job(1, {.several_hosts = true}, wishes);
  Plant plant = healthy_plant(job, draw_dialect(job));
  plant.network = {};
  return plant;
}

CollectiveCall call_of(double bytes) {
  CollectiveCall call;
  call.wire_bytes = bytes;
  return call;
}

TEST(TransferTime, FollowsTheSlowestLinkOfItsRing) {
  Plant plant = two_hosts();
  ASSERT_EQ(plant.job.hosts, 2);
  const std::vector<int> inside{0, 1};
  const std::vector<int> across{0, 1, 2, 3};
  const int64_t near = transfer_time(plant, inside, call_of(1e9), 0, 1).ns;
  const int64_t far = transfer_time(plant, across, call_of(1e9), 0, 1).ns;
  EXPECT_LT(near, far);
  for (NicState& nic : plant.hosts[1].nics) nic.rate = 0.25;
  EXPECT_NEAR(static_cast<double>(transfer_time(plant, across, call_of(1e9), 0, 1).ns) / static_cast<double>(far), 4,
              0.3);
  EXPECT_EQ(transfer_time(plant, inside, call_of(1e9), 0, 1).ns, near);
  plant.gpus[1].nvlink = 0.5;
  EXPECT_NEAR(static_cast<double>(transfer_time(plant, inside, call_of(1e9), 0, 1).ns) / static_cast<double>(near), 2,
              0.1);
}

TEST(TransferTime, WaitsForTheNetworkThread) {
  Plant plant = two_hosts();
  const std::vector<int> across{0, 1, 2, 3};
  const int64_t usual = transfer_time(plant, across, call_of(1e6), 0, 1).ns;
  plant.processes[2].proxy_wait_us = 500;
  const TransferTime late = transfer_time(plant, across, call_of(1e6), 0, 1);
  EXPECT_EQ(late.ns - usual, 500'000);
  EXPECT_EQ(late.late_proxy, 2);
}

TEST(Slices, TakeTheirShare) {
  const Slices slices{0.4, 2'000'000, 7};
  const int64_t end = slices.end_of(0, 600'000'000);
  EXPECT_NEAR(static_cast<double>(end), 1e9, 2e7);
  const auto [start, stop] = slices.at_or_after(123'456'789);
  EXPECT_EQ(stop - start, 2'000'000);
  EXPECT_GT(stop, 123'456'789);
}

TEST(Slices, NothingTakesNothing) { EXPECT_EQ(Slices{}.end_of(5, 100), 105); }

}  // namespace
}  // namespace eroica
