#include "sample/netlink_text.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

namespace eroica {
namespace {

constexpr size_t kMostEntries = 1 << 17;
constexpr uint32_t kEstablished = 1;  // TCP_ESTABLISHED, whose header does not go with <linux/tcp.h>
constexpr uint16_t kAttributeMask = 0x3fff;

template <typename Struct>
std::string bytes_of(const Struct& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// As much of it as is there; the rest is 0: kernels tell more from version to version.
template <typename Struct>
Struct front_of(std::string_view bytes) {
  Struct value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

size_t aligned(size_t length) { return (length + 3) & ~size_t{3}; }

template <typename Payload>
std::string request(uint16_t type, const Payload& payload) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + sizeof payload);
  header.nlmsg_type = type;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  return bytes_of(header) + bytes_of(payload);
}

/// Calls `each(type, payload)` for every message.
template <typename Each>
NetlinkNext walk_messages(std::string_view datagram, Each each) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto header = front_of<nlmsghdr>(datagram);
    if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > datagram.size()) break;
    if (header.nlmsg_type == NLMSG_DONE) return NetlinkNext::kEnd;
    if (header.nlmsg_type == NLMSG_ERROR) return NetlinkNext::kRefused;
    each(header.nlmsg_type, datagram.substr(sizeof header, header.nlmsg_len - sizeof header));
    datagram.remove_prefix(std::min(datagram.size(), aligned(header.nlmsg_len)));
  }
  return NetlinkNext::kMore;
}

/// The content of the first attribute of a kind.
std::optional<std::string_view> find_attribute(std::string_view attributes, uint16_t kind) {
  while (attributes.size() >= sizeof(nlattr)) {
    const auto header = front_of<nlattr>(attributes);
    if (header.nla_len < sizeof header || header.nla_len > attributes.size()) break;
    if ((header.nla_type & kAttributeMask) == kind) {
      return attributes.substr(sizeof header, header.nla_len - sizeof header);
    }
    attributes.remove_prefix(std::min(attributes.size(), aligned(header.nla_len)));
  }
  return std::nullopt;
}

}  // namespace

std::string address_text(const PeerAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* found = inet_ntop(address.family, address.words.data(), text.data(), text.size());
  return found == nullptr ? "" : found;
}

std::string encode_connections_request(uint8_t family) {
  inet_diag_req_v2 wanted{};
  wanted.sdiag_family = family;
  wanted.sdiag_protocol = IPPROTO_TCP;
  wanted.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  wanted.idiag_states = 1U << kEstablished;
  return request(SOCK_DIAG_BY_FAMILY, wanted);
}

std::string encode_queues_request() { return request(RTM_GETQDISC, tcmsg{}); }

NetlinkNext decode_connections(std::string_view datagram, std::vector<TcpConnection>& into) {
  return walk_messages(datagram, [&](uint16_t type, std::string_view payload) {
    if (type != SOCK_DIAG_BY_FAMILY || payload.size() < sizeof(inet_diag_msg) || into.size() >= kMostEntries) return;
    const auto message = front_of<inet_diag_msg>(payload);
    const auto info = find_attribute(payload.substr(sizeof message), INET_DIAG_INFO);
    if (!info || info->size() < offsetof(tcp_info, tcpi_total_retrans) + sizeof(uint32_t)) return;
    const auto tcp = front_of<tcp_info>(*info);
    PeerAddress peer{.family = message.idiag_family};
    std::ranges::copy(message.id.idiag_dst, peer.words.begin());
    into.push_back({.inode = message.idiag_inode,
                    .round_trip_us = tcp.tcpi_rtt,
                    .retransmitted = tcp.tcpi_total_retrans,
                    .unsent_bytes = tcp.tcpi_notsent_bytes,
                    .peer = peer,
                    .is_local = std::ranges::equal(message.id.idiag_src, message.id.idiag_dst),
                    .acked_bytes = tcp.tcpi_bytes_acked,
                    .busy_us = tcp.tcpi_busy_time,
                    .delivery_bytes_per_s = tcp.tcpi_delivery_rate_app_limited == 0 ? tcp.tcpi_delivery_rate : 0});
  });
}

NetlinkNext decode_queues(std::string_view datagram, std::vector<QueueBacklog>& into) {
  return walk_messages(datagram, [&](uint16_t type, std::string_view payload) {
    if (type != RTM_NEWQDISC || payload.size() < sizeof(tcmsg) || into.size() >= kMostEntries) return;
    const auto message = front_of<tcmsg>(payload);
    if (message.tcm_parent != TC_H_ROOT) return;
    const auto stats = find_attribute(payload.substr(sizeof message), TCA_STATS);
    if (!stats || stats->size() < sizeof(tc_stats)) return;
    into.push_back({message.tcm_ifindex, front_of<tc_stats>(*stats).backlog});
  });
}

}  // namespace eroica
