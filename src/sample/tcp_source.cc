#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <set>
#include <utility>

#include "sample/fields.h"
#include "sample/netlink_socket.h"
#include "sample/network_namespaces.h"
#include "sample/sample_source.h"
#include "sample/tcp_deliveries.h"

namespace eroica {
namespace {

/// The ranks' own connections.
class Connections : public SampleSource {
 public:
  Connections(const SystemFiles& files, const SampledJob& job, std::vector<std::string>& missing) : files_(files) {
    for (NetworkNamespace& network : network_namespaces(files, job)) {
      const std::string path = files.path(fmt::format("/proc/{}/ns/net", network.pids.front()));
      std::optional<NetlinkSocket> socket = NetlinkSocket::open(NETLINK_SOCK_DIAG, path);
      if (!socket) {
        missing.push_back(fmt::format("connections of {} (its network namespace is not to be entered)", network.host));
        continue;
      }
      hosts_.push_back({"host " + network.host, std::move(network.pids), *std::move(socket), {}, {}});
    }
  }

  void sample(SampleLog& log) override {
    for (Host& host : hosts_) {
      if (calls_ % kSeldom == 0) find_sockets(host);
      all_.clear();
      for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
        (void)host.netlink.ask(encode_connections_request(family),
                               [&](std::string_view datagram) { return decode_connections(datagram, all_); });
      }
      double round_trip_us = 0;
      uint64_t unsent_bytes = 0;
      size_t count = 0;
      for (const TcpConnection& one : all_) {
        if (!host.inodes.contains(one.inode)) continue;
        ++count;
        round_trip_us += one.round_trip_us;
        unsent_bytes += one.unsent_bytes;
        host.deliveries.add(one);
      }
      if (count == 0) continue;
      log.level(host.entity, "net.tcp_rtt", "ms", round_trip_us * 1e-3 / static_cast<double>(count));
      log.level(host.entity, "net.tcp_backlog", "bytes", static_cast<double>(unsent_bytes));
      log.growth(host.entity, "net.tcp_retransmit", "per_s", host.deliveries.retransmitted());
      if (const double rate = host.deliveries.take_rate_bytes_per_s(); rate > 0) {
        log.level(host.entity, "net.tcp_delivery", "bytes_per_s", rate);
      }
    }
    ++calls_;
  }

  void add_findings(SourceFindings& findings) const override {
    for (const Host& host : hosts_) {
      const TcpDeliveries::Peer peer = host.deliveries.slow_peer();
      if (peer.address.empty()) continue;
      findings.notes.push_back(
          fmt::format("connections of {} deliver {:.0f} MB/s to {}, {:.0f} MB/s to other addresses", host.entity,
                      peer.bytes_per_s * 1e-6, peer.address, peer.others_bytes_per_s * 1e-6));
    }
  }

 private:
  static constexpr uint64_t kSeldom = 16;
  static constexpr size_t kMostSockets = 1 << 16;

  struct Host {
    std::string entity;
    std::vector<pid_t> pids;
    NetlinkSocket netlink;
    std::set<uint32_t> inodes;
    TcpDeliveries deliveries;
  };

  void find_sockets(Host& host) {
    constexpr std::string_view kFront = "socket:[";
    host.inodes.clear();
    for (const pid_t pid : host.pids) {
      const std::string folder = fmt::format("/proc/{}/fd/", pid);
      for (const std::string& fd : files_.list(folder)) {
        const std::string link = files_.link(folder + fd);
        if (!link.starts_with(kFront) || host.inodes.size() >= kMostSockets) continue;
        const std::string_view number = std::string_view(link).substr(kFront.size());
        if (const auto inode = whole_number<uint32_t>(number.substr(0, number.find(']')))) host.inodes.insert(*inode);
      }
    }
  }

  const SystemFiles& files_;
  std::vector<Host> hosts_;
  std::vector<TcpConnection> all_;
  uint64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<SampleSource> tcp_source(const SystemFiles& files, const SampledJob& job,
                                         std::vector<std::string>& missing) {
  return std::make_unique<Connections>(files, job, missing);
}

}  // namespace eroica
