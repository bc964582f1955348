#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace eroica {

enum class CheckState : uint8_t {
  kOk,
  kLimited,  ///< works in part, or at a cost
  kMissing,
};

/// One thing that eroica can do only where it finds what it needs.
struct Check {
  std::string name;  ///< stable, as in "perf_events"
  CheckState state = CheckState::kOk;
  std::string found;
  std::string cost;    ///< what the user goes without; empty: nothing
  std::string remedy;  ///< one line; empty: none is needed
};

/// Where the kernel tells of itself; tests have their own.
struct HostRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
};

Check check_cgroup(const HostRoots& roots);
Check check_pressure(const HostRoots& roots);
Check check_processes(const HostRoots& roots, bool is_root);
Check check_socket_queue(const HostRoots& roots);
Check check_clock(const HostRoots& roots);
/// `works`: it was tried; `paranoid` is read for the remedy.
Check check_perf(const HostRoots& roots, bool works);
/// `works`: a process of ours could be traced. `py_spy`: its path; empty: none.
Check check_ptrace(const HostRoots& roots, bool works, bool is_root, const std::string& py_spy);
/// `library`: of the vendor's, that could be loaded; empty: none.
Check check_nvidia(const HostRoots& roots, const std::string& library);
Check check_amd(const HostRoots& roots, const std::string& library);

struct DiskFacts {
  std::string path;
  uint64_t free_bytes = 0;
  uint64_t kind = 0;  ///< f_type of statfs
  int error = 0;      ///< errno: nothing is known of it
};
Check check_disk(const DiskFacts& facts);

struct LimitFacts {
  uint64_t open_files = 0;
  uint64_t file_bytes = 0;
  uint64_t locked_bytes = 0;
};
Check check_limits(const LimitFacts& facts);

std::string_view check_state_name(CheckState state);

}  // namespace eroica
