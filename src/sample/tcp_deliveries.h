#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sample/netlink_text.h"

namespace eroica {

/// What a host's connections delivered, reading after reading.
class TcpDeliveries {
 public:
  /// One of the connections as it is now.
  void add(const TcpConnection& now);
  /// The median rate at which those that were added since the last time, and that had sent meanwhile, delivered; 0:
  /// none.
  double take_rate_bytes_per_s();
  /// Segments that were sent again so far.
  [[nodiscard]] uint64_t retransmitted() const { return retransmitted_; }

  /// What went to one address, and how fast while there was something to send.
  struct Peer {
    std::string address;
    double bytes_per_s = 0;
    double others_bytes_per_s = 0;  ///< to all other addresses together
  };
  /// The address that is slowest, where it is far slower than the others; empty address: none is.
  [[nodiscard]] Peer slow_peer() const;

 private:
  struct Seen {
    uint64_t acked_bytes = 0;
    uint64_t busy_us = 0;
    uint32_t retransmitted = 0;
  };
  struct Sum {
    uint64_t bytes = 0;
    uint64_t busy_us = 0;
  };
  std::map<uint32_t, Seen> seen_;  // by inode
  std::map<PeerAddress, Sum> by_peer_;
  std::vector<double> rates_;
  uint64_t retransmitted_ = 0;
};

}  // namespace eroica
