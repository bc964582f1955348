#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// Control groups of both versions: where those of a process are, and what their files tell.

/// Where a hierarchy is mounted (/proc/PID/mountinfo).
struct CgroupMount {
  std::string controllers;  ///< "cpu,cpuacct"; empty: version 2
  std::string root;         ///< the group that is seen at the mount point
  std::string point;
};
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);

/// A process's groups (/proc/PID/cgroup).
struct CgroupMembership {
  std::string controllers;  ///< as in CgroupMount
  std::string path;
};
std::vector<CgroupMembership> parse_cgroup_membership(std::string_view text);
/// The most telling path of such a text; empty: none.
std::string longest_cgroup(std::string_view text);

/// The folders of a process's group for a controller and of the groups around it, innermost first; at most 32. Version
/// 1 where it has the controller, else version 2.
struct CgroupFolders {
  std::vector<std::string> folders;
  bool version_2 = false;

  friend bool operator==(const CgroupFolders&, const CgroupFolders&) = default;
};
CgroupFolders cgroup_folders(const std::vector<CgroupMount>& mounts, const std::vector<CgroupMembership>& of,
                             std::string_view controller);

/// Time that a quota stopped the group, from cpu.stat; absent: quotas are not told of there.
std::optional<uint64_t> parse_throttled_ns(std::string_view cpu_stat);
/// From memory.stat.
std::optional<uint64_t> parse_refaults(std::string_view memory_stat);
/// From memory.events (version 2).
std::optional<uint64_t> parse_limit_hits(std::string_view memory_events);

}  // namespace eroica
