#include "sample/signal_supply.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/clocks.h"
#include "sample/cgroup_text.h"
#include "sample/ethtool_text.h"
#include "sample/fields.h"
#include "sample/gpu_assignment.h"
#include "sample/netlink_socket.h"
#include "sample/netlink_text.h"
#include "sample/numa_nodes.h"
#include "sample/perf_switches.h"

namespace eroica {
namespace {

using Kind = SignalState::Kind;
constexpr std::string_view kNoGpu = "no GPU here";

SignalState unless(bool told, std::string_view why, Kind kind = Kind::kNotTold) {
  return told ? SignalState() : SignalState{kind, std::string(why)};
}

/// Is this in one of the files of the control group of this process or those around it?
bool cgroup_tells(const SystemFiles& files, std::string_view controller,
                  const std::function<bool(const std::string& folder, bool version_2)>& tells) {
  const CgroupFolders found = cgroup_folders(parse_cgroup_mounts(files.read("/proc/self/mountinfo")),
                                             parse_cgroup_membership(files.read("/proc/self/cgroup")), controller);
  return std::ranges::any_of(found.folders, [&](const auto& folder) { return tells(folder, found.version_2); });
}

void add_processes(const SystemFiles& files, SignalSupply& into) {
  const SignalState schedule = unless(files.exists("/proc/self/schedstat"), "no schedstat in this kernel");
  for (const char* metric : {"cpu.main_thread_run", "cpu.main_thread_runnable_wait", "cpu.run", "cpu.runnable_wait"}) {
    into[metric] = schedule;
  }
  const SignalState stat = unless(files.exists("/proc/self/stat"), "no /proc");
  for (const char* metric : {"io.blocked", "process.threads", "memory.rss", "memory.major_faults", "cpu.allowed"}) {
    into[metric] = stat;
  }
  std::string text;
  into["cpu.throttled"] =
      unless(cgroup_tells(files, "cpu",
                          [&](const std::string& folder, bool) {
                            return files.read(folder + "/cpu.stat", text) && parse_throttled_ns(text).has_value();
                          }),
             "no throttling is counted in this process's control group");
  into["memory.refaults"] =
      unless(cgroup_tells(files, "memory",
                          [&](const std::string& folder, bool) {
                            return files.read(folder + "/memory.stat", text) && parse_refaults(text).has_value();
                          }),
             "not told by this process's control group");
  into["memory.limit_hits"] =
      unless(cgroup_tells(files, "memory",
                          [&](const std::string& folder, bool version_2) {
                            return files.exists(folder + (version_2 ? "/memory.events" : "/memory.failcnt"));
                          }),
             "not told by this process's control group");
}

void add_switches(const SystemFiles& files, SignalSupply& into) {
  const bool is_here = files.exists("/proc/self/stat");
  const std::unique_ptr<SwitchFeed> switches = perf_switches({getpid()});
  const std::string_view why = is_here ? std::string_view(switches->problem()) : "no /proc";
  for (const char* metric : {"cpu.main_thread_preempted", "cpu.main_thread_wakeup_wait"}) {
    into[metric] = unless(is_here && switches->tells_of(getpid()), why);
  }
  for (const char* metric : {"cpu.main_thread_wait_foreign", "cpu.main_thread_wait_own"}) {
    into[metric] = unless(is_here && switches->tells_others(), why);
  }
}

void add_host(const SystemFiles& files, SignalSupply& into) {
  const SignalState cpus = unless(files.exists("/proc/stat"), "no /proc/stat");
  for (const char* metric : {"cpu.busy", "cpu.softirq", "cpu.irq", "cpu.steal", "cpu.iowait", "cpu.foreign"}) {
    into[metric] = cpus;
  }
  into["cpu.frequency"] = unless(files.exists("/sys/devices/system/cpu/cpu0/cpufreq"), "no cpufreq");
  for (const char* what : {"cpu", "io", "memory"}) {
    into[fmt::format("pressure.{}", what)] =
        unless(files.exists(fmt::format("/proc/pressure/{}", what)), "no /proc/pressure");
  }
  const std::string memory = files.read("/proc/vmstat");
  into["memory.swap_in"] = unless(number_after(memory, "pswpin").has_value(), "not in /proc/vmstat");
  into["memory.compact_stall"] = unless(number_after(memory, "compact_stall").has_value(), "not in /proc/vmstat");
  const std::vector<std::string> blocks = files.list("/sys/block");
  const bool has_disk = std::ranges::any_of(
      blocks, [](const std::string& name) { return !name.starts_with("loop") && !name.starts_with("ram"); });
  const SignalState disks =
      unless(has_disk && files.exists("/proc/diskstats"), "no disks of its own", Kind::kNothingThere);
  for (const char* metric : {"disk.busy", "disk.await"}) into[metric] = disks;
  const SignalState traffic = unless(files.exists("/proc/self/io"), "no /proc/self/io");
  for (const char* metric : {"disk.read", "disk.write"}) into[metric] = traffic;
  const SignalState remote = unless(files.exists("/proc/self/mountstats"), "no /proc/self/mountstats");
  for (const char* metric : {"fs.remote_ops", "fs.remote_rtt"}) into[metric] = remote;
}

/// Does the kernel answer such a question?
bool answers(const SystemFiles& files, int protocol, const std::string& request) {
  std::optional<NetlinkSocket> socket = NetlinkSocket::open(protocol, files.path("/proc/self/ns/net"));
  return socket && socket->ask(request, [](std::string_view datagram) {
    std::vector<QueueBacklog> none;
    return decode_queues(datagram, none);
  });
}

void add_network(const SystemFiles& files, SignalSupply& into) {
  const SignalState counters = unless(files.exists("/proc/self/net/dev"), "no /proc/net/dev");
  for (const char* metric : {"net.transmit", "net.receive", "net.drop", "net.error"}) into[metric] = counters;
  const std::vector<std::string> names = files.list("/sys/class/net");
  const auto any_has = [&](std::string_view file) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return files.exists(fmt::format("/sys/class/net/{}/{}", name, file)); });
  };
  into["net.speed"] = unless(any_has("speed"), "not in /sys/class/net");
  into["net.link_down"] = unless(any_has("carrier_down_count"), "not in /sys/class/net");
  into["net.members_up"] = unless(any_has("bonding"), "no bond here", Kind::kNothingThere);
  into["net.cnp"] = unless(any_has("device/infiniband"), "no RDMA device here", Kind::kNothingThere);
  const std::optional<NetlinkSocket> drivers = NetlinkSocket::open(NETLINK_ROUTE, files.path("/proc/self/ns/net"));
  const bool counts_pauses = drivers && std::ranges::any_of(names, [&](const std::string& name) {
                               return find_pause_counters(drivers->statistics_names(name)).any();
                             });
  into["net.pause"] = unless(counts_pauses, "no interface's driver counts them", Kind::kNothingThere);
  into["net.queue"] = unless(answers(files, NETLINK_ROUTE, encode_queues_request()), "the kernel does not tell");
  const SignalState connections =
      unless(answers(files, NETLINK_SOCK_DIAG, encode_connections_request(AF_INET)), "the kernel does not tell");
  for (const char* metric : {"net.tcp_rtt", "net.tcp_backlog", "net.tcp_retransmit", "net.tcp_delivery"})
    into[metric] = connections;
}

/// What the GPUs of a vendor tell when they are asked once; `why` they tell nothing.
std::set<std::string, std::less<>> told_by(GpuFeed& feed, int64_t most_ns, std::string& why) {
  const int64_t until_ns = monotonic_ns() + most_ns;
  for (const bool ask : {true, false}) {
    if (!feed.wait_idle(until_ns - monotonic_ns())) {
      why = fmt::format("{} does not come back", feed.hung_call());
      return {};
    }
    if (!ask) break;
    why = feed.problem();
    std::vector<size_t> all(feed.gpus().size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    feed.begin(std::move(all), {GpuPace::kFast, GpuPace::kMedium, GpuPace::kSlow});
  }
  std::set<std::string, std::less<>> told;
  for (const GpuReading& reading : feed.take()) {
    for (const GpuValue& value : reading.values) told.emplace(gpu_signal_name(value.signal).metric);
    if (reading.processes) told.emplace("gpu.foreign_processes");
  }
  return told;
}

void add_gpus(const SystemFiles& files, const GpuFeeds& gpus, int64_t most_ns, SignalSupply& into) {
  std::set<std::string, std::less<>> told;
  std::string why(kNoGpu);
  bool any = false;
  for (const std::shared_ptr<GpuFeed>& feed : gpus.counters) feed->start();
  for (const std::shared_ptr<GpuFeed>& feed : gpus.counters) {
    std::string problem;
    told.merge(told_by(*feed, most_ns, problem));
    if (!problem.empty()) why = problem;
    any = any || (feed->state() == GpuFeed::State::kIdle && !feed->gpus().empty());
  }
  const Kind kind = any || why != kNoGpu ? Kind::kNotTold : Kind::kNothingThere;
  if (any) why = "these GPUs do not tell it";
  for (size_t i = 0; i < kGpuSignals; ++i) {
    const std::string_view metric = gpu_signal_name(static_cast<GpuSignal>(i)).metric;
    into[std::string(metric)] = unless(told.contains(metric), why, kind);
  }
  const bool has_nodes = NumaNodes(files).count() > 1;
  into["cpu.remote_numa"] =
      unless(any && has_nodes, has_nodes ? std::string_view(kNoGpu) : "one NUMA node", Kind::kNothingThere);
  into["gpu.foreign_processes"] = told.contains("gpu.foreign_processes")
                                      ? unless(in_host_pid_namespace(files), "not in the host's pid namespace")
                                      : SignalState{kind, why};
}

}  // namespace

SignalSupply signal_supply(const SystemFiles& files, const GpuFeeds& gpus, int64_t most_ns) {
  SignalSupply supply;
  add_processes(files, supply);
  add_switches(files, supply);
  add_host(files, supply);
  add_network(files, supply);
  add_gpus(files, gpus, most_ns, supply);
  return supply;
}

}  // namespace eroica
