#include "sample/tcp_deliveries.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

constexpr uint64_t kMb = 1'000'000;

TcpConnection connection(uint32_t inode, uint8_t last, uint64_t acked, uint64_t busy_us, uint64_t rate = 0) {
  return {.inode = inode,
          .peer = {AF_INET, {htonl(0x0a000000U + last)}},
          .acked_bytes = acked,
          .busy_us = busy_us,
          .delivery_bytes_per_s = rate};
}

TEST(TcpDeliveries, TheAddressThatIsSlowIsNamed) {
  TcpDeliveries deliveries;
  for (const uint64_t i : {0, 1, 2}) {
    deliveries.add(connection(1, 1, 50 * kMb * i, 500'000 * i));
    deliveries.add(connection(2, 2, 5 * kMb * i, 500'000 * i));
    deliveries.add(connection(3, 3, 60 * kMb * i, 500'000 * i));
    deliveries.add(connection(4, 4, 1000 * i, 900'000 * i));  // too little to say anything of it
  }
  const TcpDeliveries::Peer slow = deliveries.slow_peer();
  EXPECT_EQ(slow.address, "10.0.0.2");
  EXPECT_DOUBLE_EQ(slow.bytes_per_s, 10e6);
  EXPECT_GT(slow.others_bytes_per_s, 50e6);
}

TEST(TcpDeliveries, WhereAllAreSlowNoneIsNamed) {
  TcpDeliveries deliveries;
  EXPECT_EQ(deliveries.slow_peer().address, "");
  for (const uint64_t i : {0, 1}) {
    deliveries.add(connection(1, 1, 5 * kMb * i, 500'000 * i));
    deliveries.add(connection(2, 2, 5 * kMb * i, 510'000 * i));
  }
  EXPECT_EQ(deliveries.slow_peer().address, "");
}

TEST(TcpDeliveries, RatesOfThoseThatSentMeanwhile) {
  TcpDeliveries deliveries;
  deliveries.add(connection(1, 1, 100, 1, 900));
  EXPECT_EQ(deliveries.take_rate_bytes_per_s(), 0);  // sent before
  deliveries.add(connection(1, 1, 200, 2, 700));
  deliveries.add(connection(2, 1, 100, 2, 5));
  deliveries.add(connection(1, 1, 200, 2, 1));
  EXPECT_EQ(deliveries.take_rate_bytes_per_s(), 700);
  EXPECT_EQ(deliveries.take_rate_bytes_per_s(), 0);
}

TEST(TcpDeliveries, SegmentsSentAgainAreCountedOfEachConnection) {
  TcpDeliveries deliveries;
  for (const uint32_t count : {5U, 9U, 2U}) {  // then another one has its number
    TcpConnection one = connection(1, 1, 0, 0);
    one.retransmitted = count;
    deliveries.add(one);
  }
  EXPECT_EQ(deliveries.retransmitted(), 4U);
}

}  // namespace
}  // namespace eroica::testing
