#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sample/ethtool_text.h"
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
    sample_traffic(log);
    if (calls_++ % kSeldom == 0) sample_links(log);
  }
  void finish(SampleLog& log) override {
    sample_traffic(log);
    sample_links(log);
  }

 private:
  void sample_traffic(SampleLog& log) {
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
  }

  static constexpr uint64_t kSeldom = 16;

  struct FlowControl {
    PauseCounters pauses;
    size_t statistics = 0;
    std::vector<std::string> notifications;  // files
  };
  struct Host {
    std::string entity;
    std::string counters;
    std::string folder;
    bool own = false;
    std::optional<NetlinkSocket> netlink;
    std::map<std::string, bool> wanted;
    std::map<int32_t, std::string> names;
    std::map<std::string, FlowControl> flow_control;  // of each interface
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
    for (Host& host : hosts_) {
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
        sample_flow_control(host, nic, entity, log);
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

  /// How the network slows senders: pauses as the driver counts them, congestion notifications of its RDMA device.
  void sample_flow_control(Host& host, const std::string& nic, const std::string& entity, SampleLog& log) {
    const auto [found, is_new] = host.flow_control.try_emplace(nic);
    FlowControl& control = found->second;
    if (is_new) {
      if (host.netlink) {
        const std::vector<std::string> names = host.netlink->statistics_names(nic);
        control.pauses = find_pause_counters(names);
        control.statistics = names.size();
      }
      control.notifications = notification_files(host.folder + nic);
    }
    if (host.netlink && control.pauses.any()) {
      const std::vector<uint64_t> values = host.netlink->statistics(nic, control.statistics);
      if (!values.empty()) log.growth(entity, "net.pause", "per_s", pause_frames(control.pauses, values));
    }
    uint64_t notifications = 0;
    for (const std::string& path : control.notifications) notifications += number_in(path).value_or(0);
    if (!control.notifications.empty()) log.growth(entity, "net.cnp", "per_s", notifications);
  }

  /// Those of all ports of an interface's RDMA devices.
  [[nodiscard]] std::vector<std::string> notification_files(const std::string& folder) const {
    std::vector<std::string> found;
    for (const std::string& device : files_.list(folder + "/device/infiniband")) {
      const std::string ports = fmt::format("{}/device/infiniband/{}/ports/", folder, device);
      for (const std::string& port : files_.list(ports)) {
        for (const char* name : {"np_cnp_sent", "rp_cnp_handled"}) {
          const std::string path = fmt::format("{}{}/hw_counters/{}", ports, port, name);
          if (files_.exists(path)) found.push_back(path);
        }
      }
    }
    return found;
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

}  // namespace

std::unique_ptr<SampleSource> nic_source(const SystemFiles& files, const SampledJob& job) {
  return std::make_unique<Nics>(files, job);
}

}  // namespace eroica
