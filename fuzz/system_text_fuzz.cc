// What /proc, /sys and netlink hold differs from kernel to kernel: whatever the bytes, the parsers of samples take or
// refuse them, and never gather more than they were given.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "sample/cgroup_text.h"
#include "sample/host_text.h"
#include "sample/netlink_text.h"
#include "sample/process_text.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)eroica::parse_schedstat(text);
  if (const auto stat = eroica::parse_task_stat(text)) require(stat->name.size() < size);
  (void)eroica::parse_process_io(text);
  if (const auto cpus = eroica::parse_allowed_cpus(text)) require(*cpus > 0 && *cpus <= 8 * size);
  for (const eroica::CpuTicks& cpu : eroica::parse_cpu_ticks(text)) require(cpu.cpu >= -1);
  (void)eroica::parse_pressure_us(text);
  require(eroica::parse_disks(text).size() <= size);
  require(eroica::parse_nics(text).size() <= size);
  require(eroica::parse_remote_calls(text).mounts <= size);
  (void)eroica::has_remote_mounts(text);
  (void)eroica::parse_throttled_ns(text);
  (void)eroica::parse_refaults(text);
  (void)eroica::parse_limit_hits(text);

  const std::vector<eroica::CgroupMount> mounts = eroica::parse_cgroup_mounts(text);
  const std::vector<eroica::CgroupMembership> groups = eroica::parse_cgroup_membership(text);
  for (const std::string_view controller : {"cpu", "memory"}) {
    require(eroica::cgroup_folders(mounts, groups, controller).folders.size() <= 32);
    require(eroica::cgroup_folders({{"", "/", "/sys/fs/cgroup"}}, groups, controller).folders.size() <= 32);
  }

  std::vector<eroica::TcpConnection> connections;
  (void)eroica::decode_connections(text, connections);
  require(connections.size() <= size / 16);
  std::vector<eroica::QueueBacklog> queues;
  (void)eroica::decode_queues(text, queues);
  require(queues.size() <= size / 16);
  return 0;
}
