#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sample/fields.h"
#include "sample/host_text.h"
#include "sample/netlink_socket.h"
#include "sample/network_namespaces.h"
#include "sample/sample_source.h"

namespace eroica {
namespace {

class Nics : public SampleSource {
 public:
  Nics(const SystemFiles& files, const SampledJob& job) : files_(files) {
    for (NetworkNamespace& network : network_namespaces(files, job)) {
      Host host;
      host.entity = "host " + network.host;
      host.counters = fmt::format("/proc/{}/net/dev", network.pids.front());
      // Another namespace's interfaces show in its own /sys alone.
      host.folder = (network.own ? "" : fmt::format("/proc/{}/root", network.pids.front())) + "/sys/class/net/";
      host.netlink =
          NetlinkSocket::open(NETLINK_ROUTE, files.path(fmt::format("/proc/{}/ns/net", network.pids.front())));
      host.own = network.own;
      hosts_.push_back(std::move(host));
    }
  }

  void sample(SampleLog& log) override {
    for (Host& host : hosts_) {
      if (!files_.read(host.counters, text_)) continue;
      for (const NicCounters& nic : parse_nics(text_)) {
        if (nic.received_bytes + nic.sent_bytes == 0 || !is_wanted(host, nic.name)) continue;
        const std::string entity = fmt::format("{}/nic {}", host.entity, nic.name);
        log.growth(entity, "net.transmit", "bytes_per_s", nic.sent_bytes);
        log.growth(entity, "net.receive", "bytes_per_s", nic.received_bytes);
        log.growth(entity, "net.drop", "per_s", nic.drops);
        log.growth(entity, "net.error", "per_s", nic.errors);
      }
      sample_queues(host, log);
    }
    if (calls_++ % kSeldom == 0) sample_links(log);
  }

 private:
  static constexpr uint64_t kSeldom = 16;

  struct Host {
    std::string entity;
    std::string counters;
    std::string folder;
    bool own = false;
    std::optional<NetlinkSocket> netlink;
    std::map<std::string, bool> wanted;
    std::map<int32_t, std::string> names;
  };

  /// Real interfaces and bonds, but not a bond's members; in containers whatever there is. What is beyond a machine's
  /// own bridges and tunnels goes through these in the end.
  bool is_wanted(Host& host, const std::string& nic) {
    const auto [found, is_new] = host.wanted.try_emplace(nic, false);
    if (is_new && nic != "lo") {
      const std::string folder = host.folder + nic;
      found->second = !host.own || ((files_.exists(folder + "/device") || files_.exists(folder + "/bonding")) &&
                                    !files_.exists(folder + "/master"));
    }
    return found->second;
  }

  void sample_queues(Host& host, SampleLog& log) {
    if (!host.netlink) return;
    queues_.clear();
    const bool told = host.netlink->ask(encode_queues_request(),
                                        [&](std::string_view datagram) { return decode_queues(datagram, queues_); });
    if (!told) {
      host.netlink.reset();
      return;
    }
    for (const QueueBacklog& queue : queues_) {
      auto name = host.names.find(queue.interface);
      if (name == host.names.end()) {
        name = host.names.emplace(queue.interface, host.netlink->interface_name(queue.interface)).first;
      }
      const auto wanted = host.wanted.find(name->second);
      if (wanted == host.wanted.end() || !wanted->second) continue;
      log.level(fmt::format("{}/nic {}", host.entity, name->second), "net.queue", "bytes",
                static_cast<double>(queue.bytes));
    }
  }

  /// What changes seldom.
  void sample_links(SampleLog& log) {
    for (const Host& host : hosts_) {
      for (const auto& [nic, wanted] : host.wanted) {
        if (!wanted) continue;
        const std::string entity = fmt::format("{}/nic {}", host.entity, nic);
        const std::string folder = host.folder + nic;
        if (const auto megabits = number_in(folder + "/speed")) {
          log.level(entity, "net.speed", "bits_per_s", static_cast<double>(*megabits) * 1e6);
        }
        if (const auto downs = number_in(folder + "/carrier_down_count")) {
          log.growth(entity, "net.link_down", "per_s", *downs);
        }
        if (!files_.read(folder + "/bonding/slaves", text_)) continue;
        const std::string names = text_;
        std::string_view members = names;
        size_t up = 0;
        for (std::string_view name = take_field(members); !name.empty(); name = take_field(members)) {
          if (number_in(fmt::format("{}{}/carrier", host.folder, name)).value_or(0) == 1) ++up;
        }
        log.level(entity, "net.members_up", "count", static_cast<double>(up));
      }
    }
  }

  std::optional<uint64_t> number_in(const std::string& path) {
    if (!files_.read(path, text_)) return std::nullopt;
    std::string_view text = text_;
    return take_number(text);
  }

  const SystemFiles& files_;
  std::vector<Host> hosts_;
  std::vector<QueueBacklog> queues_;
  uint64_t calls_ = 0;
  std::string text_;
};

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
      hosts_.push_back({"host " + network.host, std::move(network.pids), *std::move(socket), {}, {}, 0});
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
        const auto [before, is_new] = host.retransmitted.try_emplace(one.inode, one.retransmitted);
        if (!is_new && one.retransmitted > before->second) host.lost += one.retransmitted - before->second;
        before->second = one.retransmitted;
      }
      if (count == 0) continue;
      log.level(host.entity, "net.tcp_rtt", "ms", round_trip_us * 1e-3 / static_cast<double>(count));
      log.level(host.entity, "net.tcp_backlog", "bytes", static_cast<double>(unsent_bytes));
      log.growth(host.entity, "net.tcp_retransmit", "per_s", host.lost);
    }
    ++calls_;
  }

 private:
  static constexpr uint64_t kSeldom = 16;
  static constexpr size_t kMostSockets = 1 << 16;

  struct Host {
    std::string entity;
    std::vector<pid_t> pids;
    NetlinkSocket netlink;
    std::set<uint32_t> inodes;
    std::map<uint32_t, uint32_t> retransmitted;  // by inode
    uint64_t lost = 0;
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

std::unique_ptr<SampleSource> nic_source(const SystemFiles& files, const SampledJob& job) {
  return std::make_unique<Nics>(files, job);
}

std::unique_ptr<SampleSource> tcp_source(const SystemFiles& files, const SampledJob& job,
                                         std::vector<std::string>& missing) {
  return std::make_unique<Connections>(files, job, missing);
}

}  // namespace eroica
