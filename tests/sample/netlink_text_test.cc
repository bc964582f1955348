#include "sample/netlink_text.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>

namespace eroica {
namespace {

template <typename Struct>
std::string bytes_of(const Struct& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string message(uint16_t type, const std::string& payload) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + payload.size());
  header.nlmsg_type = type;
  std::string bytes = bytes_of(header) + payload;
  bytes.resize((bytes.size() + 3) & ~size_t{3});
  return bytes;
}

std::string attribute(uint16_t kind, const std::string& content) {
  nlattr header{};
  header.nla_len = static_cast<uint16_t>(sizeof header + content.size());
  header.nla_type = kind;
  std::string bytes = bytes_of(header) + content;
  bytes.resize((bytes.size() + 3) & ~size_t{3});
  return bytes;
}

std::string connection(uint32_t inode, uint32_t round_trip_us, bool is_short_of_data = false) {
  inet_diag_msg one{};
  one.idiag_family = AF_INET;
  one.idiag_inode = inode;
  one.id.idiag_dst[0] = htonl(0x0a570003);
  tcp_info info{};
  info.tcpi_rtt = round_trip_us;
  info.tcpi_total_retrans = 3;
  info.tcpi_notsent_bytes = 4096;
  info.tcpi_bytes_acked = 5'000'000'000;
  info.tcpi_busy_time = 700;
  info.tcpi_delivery_rate = 125'000'000;
  info.tcpi_delivery_rate_app_limited = is_short_of_data ? 1 : 0;
  return message(SOCK_DIAG_BY_FAMILY,
                 bytes_of(one) + attribute(INET_DIAG_SHUTDOWN, "x") + attribute(INET_DIAG_INFO, bytes_of(info)));
}

TEST(NetlinkText, Connections) {
  std::vector<TcpConnection> told;
  EXPECT_EQ(decode_connections(connection(7, 120) + connection(8, 90, true), told), NetlinkNext::kMore);
  EXPECT_EQ(decode_connections(message(NLMSG_DONE, "\0\0\0\0"), told), NetlinkNext::kEnd);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].inode, 7u);
  EXPECT_EQ(told[0].round_trip_us, 120u);
  EXPECT_EQ(told[0].retransmitted, 3u);
  EXPECT_EQ(told[0].unsent_bytes, 4096u);
  EXPECT_EQ(address_text(told[0].peer), "10.87.0.3");
  EXPECT_EQ(told[0].acked_bytes, 5'000'000'000u);
  EXPECT_EQ(told[0].busy_us, 700u);
  EXPECT_EQ(told[0].delivery_bytes_per_s, 125'000'000u);
  EXPECT_EQ(told[1].inode, 8u);
  EXPECT_EQ(told[1].delivery_bytes_per_s, 0u);
}

TEST(NetlinkText, AnErrorRefuses) {
  std::vector<TcpConnection> told;
  EXPECT_EQ(decode_connections(message(NLMSG_ERROR, std::string(20, '\0')), told), NetlinkNext::kRefused);
}

TEST(NetlinkText, CutsAndLiesAboutLengthsTellNothing) {
  const std::string whole = connection(7, 120);
  for (size_t length = 0; length < whole.size(); ++length) {
    std::vector<TcpConnection> told;
    (void)decode_connections(std::string_view(whole).substr(0, length), told);
    EXPECT_TRUE(told.empty()) << length;
  }
  for (const size_t at : {size_t{0}, sizeof(nlmsghdr) + sizeof(inet_diag_msg)}) {
    std::string lies = whole;
    lies[at] = lies[at + 1] = '\xff';
    std::vector<TcpConnection> told;
    (void)decode_connections(lies, told);
    EXPECT_TRUE(told.empty());
  }
}

TEST(NetlinkText, RootQueues) {
  tc_stats stats{};
  stats.backlog = 70'000;
  tcmsg root{};
  root.tcm_ifindex = 5;
  root.tcm_parent = TC_H_ROOT;
  tcmsg inner = root;
  inner.tcm_parent = 1;
  std::vector<QueueBacklog> told;
  decode_queues(message(RTM_NEWQDISC, bytes_of(root) + attribute(TCA_STATS, bytes_of(stats))) +
                    message(RTM_NEWQDISC, bytes_of(inner) + attribute(TCA_STATS, bytes_of(stats))),
                told);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].interface, 5);
  EXPECT_EQ(told[0].bytes, 70'000u);
}

}  // namespace
}  // namespace eroica
