#include "sample/ethtool_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PauseCounters, OfDriversThatNameThemAsTheyLike) {
  const std::vector<std::string> mlx5 = {"rx_packets",
                                         "rx_pause_ctrl_phy",
                                         "tx_pause_ctrl_phy",
                                         "rx_prio0_pause",
                                         "rx_prio0_pause_duration",
                                         "rx_prio3_pause_transition",
                                         "tx_prio3_pause",
                                         "tx_pause_storm_warning_events"};
  const PauseCounters found = find_pause_counters(mlx5);
  EXPECT_THAT(found.of_link, ElementsAre(1U, 2U));
  EXPECT_THAT(found.of_priorities, ElementsAre(3U, 6U));
  // The same frames stand in both.
  EXPECT_EQ(pause_frames(found, std::vector<uint64_t>{9, 5, 6, 7, 1000, 1000, 3, 1000}), 11U);
  EXPECT_EQ(pause_frames(found, std::vector<uint64_t>{9, 0, 0, 7, 1000, 1000, 3, 1000}), 10U);
  EXPECT_EQ(pause_frames(found, std::vector<uint64_t>{9, 5}), 5U);  // a driver that tells less than it said
  const std::vector<std::string> i40e = {"port.link_xoff_rx", "port.link_xon_rx", "port.rx_priority_0_xoff"};
  EXPECT_THAT(find_pause_counters(i40e).of_link, ElementsAre(0U));
  EXPECT_THAT(find_pause_counters(i40e).of_priorities, ElementsAre(2U));
  const std::vector<std::string> none = {"peer_ifindex", "rx_queue_0_xdp_packets"};
  EXPECT_THAT(find_pause_counters(none).of_link, IsEmpty());
}

}  // namespace
}  // namespace eroica::testing
