#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// What the kernel is asked about sockets and queues over netlink, and its answers: datagrams of messages in this
// machine's byte order.

/// An IP address as the kernel holds it.
struct PeerAddress {
  uint8_t family = 0;  ///< AF_INET, AF_INET6
  std::array<uint32_t, 4> words{};

  friend auto operator<=>(const PeerAddress&, const PeerAddress&) = default;
};
/// "10.0.0.1"
std::string address_text(const PeerAddress& address);

/// An open TCP connection.
struct TcpConnection {
  uint32_t inode = 0;  ///< "socket:[INODE]" of /proc/PID/fd
  uint32_t round_trip_us = 0;
  uint32_t retransmitted = 0;  ///< segments so far
  uint32_t unsent_bytes = 0;
  PeerAddress peer = {};     ///< at the other end
  bool is_local = false;     ///< both ends are this host's
  uint64_t acked_bytes = 0;  ///< so far; 0 as well where the kernel does not tell
  uint64_t busy_us = 0;      ///< with something to send, so far
  /// At which the last segments arrived; 0: not told, or it was the program that had no more to send.
  uint64_t delivery_bytes_per_s = 0;
};

/// What waits in an interface's queues.
struct QueueBacklog {
  int32_t interface = 0;
  uint64_t bytes = 0;  ///< of its root queue
};

/// Asks for all open connections of AF_INET or AF_INET6.
std::string encode_connections_request(uint8_t family);
/// Asks for the queues of all interfaces.
std::string encode_queues_request();

/// What follows a datagram of an answer.
enum class NetlinkNext : uint8_t { kMore, kEnd, kRefused };
/// Appends what a datagram tells. Messages of other kinds and damaged ones are passed over.
NetlinkNext decode_connections(std::string_view datagram, std::vector<TcpConnection>& into);
NetlinkNext decode_queues(std::string_view datagram, std::vector<QueueBacklog>& into);

}  // namespace eroica
