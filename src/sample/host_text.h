#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// What the kernel tells of the whole machine.

/// A line of /proc/stat, in clock ticks.
struct CpuTicks {
  int32_t cpu = -1;   ///< −1: all of them
  uint64_t busy = 0;  ///< all but idle and iowait
  uint64_t total = 0;
  uint64_t work = 0;  ///< of processes: user, nice, system
  uint64_t iowait = 0;
  uint64_t irq = 0;
  uint64_t softirq = 0;
  uint64_t steal = 0;
};
/// All CPUs together first; at most 4,096 more.
std::vector<CpuTicks> parse_cpu_ticks(std::string_view proc_stat);

/// How long some task waited (/proc/pressure/…, also of a cgroup).
std::optional<uint64_t> parse_pressure_us(std::string_view text);

/// A line of /proc/diskstats.
struct DiskCounters {
  std::string name;
  uint64_t requests = 0;  ///< reads and writes that ended
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t request_ms = 0;  ///< that all of them took
  uint64_t busy_ms = 0;
};
std::vector<DiskCounters> parse_disks(std::string_view diskstats);

/// A line of /proc/net/dev.
struct NicCounters {
  std::string name;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
  uint64_t errors = 0;  ///< both ways
  uint64_t drops = 0;
};
std::vector<NicCounters> parse_nics(std::string_view net_dev);

/// Calls to NFS servers of all mounts (/proc/PID/mountstats).
struct RemoteCalls {
  size_t mounts = 0;
  uint64_t calls = 0;
  uint64_t round_trip_ms = 0;  ///< of all of them
};
RemoteCalls parse_remote_calls(std::string_view mountstats);

/// Whether any file system may lie on other machines (/proc/PID/mountinfo); those of users (FUSE) may.
bool has_remote_mounts(std::string_view mountinfo);

}  // namespace eroica
