#include "agent/host_checks.h"

#include <fmt/format.h>
#include <linux/magic.h>

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "sample/cgroup_text.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 65'536;
constexpr uint64_t kGb = 1'000'000'000;
constexpr int64_t kLeastQueue = 10;
constexpr uint64_t kLeastFiles = 1024;
constexpr uint64_t kLeastLocked = uint64_t{1} << 20;

/// nullopt: it cannot be read.
std::optional<std::string> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  if (!file) return std::nullopt;
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return std::nullopt;
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::optional<int64_t> integer_in(const std::string& path) {
  const std::optional<std::string> text = contents(path);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

std::string_view check_state_name(CheckState state) {
  constexpr std::array<std::string_view, 3> kNames = {"ok", "limited", "missing"};
  return kNames[static_cast<size_t>(state)];
}

Check check_cgroup(const HostRoots& roots) {
  Check check{"cgroup", CheckState::kOk, "", "", ""};
  const std::string mount = roots.sys + "/fs/cgroup";
  const bool is_v2 = exists(mount + "/cgroup.controllers");
  const bool is_v1 = !is_v2 && (exists(mount + "/cpu") || exists(mount + "/cpu,cpuacct"));
  const std::string lost = "a CPU quota cannot be told from other reasons to wait";
  if (!is_v2 && !is_v1) {
    return {check.name, CheckState::kMissing, "no control groups are mounted", lost, "mount " + mount + " here"};
  }
  check.found = is_v2 ? "version 2" : "version 1";
  const std::string point = is_v2 ? mount : mount + (exists(mount + "/cpu,cpuacct") ? "/cpu,cpuacct" : "/cpu");
  const std::vector<CgroupMount> mounts = {{is_v2 ? "" : "cpu", "/", point}};
  const std::string groups = contents(roots.proc + "/self/cgroup").value_or("");
  std::vector<std::string> folders = cgroup_folders(mounts, parse_cgroup_membership(groups), "cpu").folders;
  folders.push_back(point);  // within a container its own group is often the root of what is mounted
  for (const std::string& folder : folders) {
    const std::string path = folder + "/cpu.stat";
    const std::optional<std::string> stat = contents(path);
    if (stat && stat->find("nr_throttled") != std::string::npos) {
      check.found += ", throttling is counted in " + path;
      return check;
    }
  }
  check.state = CheckState::kLimited;
  check.found += ", but no throttling is counted for this process's group";
  check.cost = lost;
  check.remedy = is_v2 ? "enable the cpu controller for the jobs' groups (cgroup.subtree_control)"
                       : "run in a group of the cpu controller";
  return check;
}

Check check_pressure(const HostRoots& roots) {
  const std::optional<std::string> cpu = contents(roots.proc + "/pressure/cpu");
  if (cpu && !cpu->empty()) return {"pressure", CheckState::kOk, "/proc/pressure is there", "", ""};
  return {"pressure", CheckState::kLimited, "no /proc/pressure",
          "how much the whole host waits for CPU, memory and disks is told by coarser signals",
          "boot with psi=1 (CONFIG_PSI)"};
}

Check check_processes(const HostRoots& roots, bool is_root) {
  const std::string mounts = contents(roots.proc + "/self/mounts").value_or("");
  std::istringstream lines(mounts);
  bool hidden = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_proc = line.find(" /proc proc ") != std::string::npos;
    hidden = hidden || (is_proc && line.find("hidepid=") != std::string::npos &&
                        line.find("hidepid=0") == std::string::npos && line.find("hidepid=off") == std::string::npos);
  }
  if (!hidden || is_root) return {"processes", CheckState::kOk, "other users' processes are seen", "", ""};
  return {"processes", CheckState::kLimited, "/proc hides other users' processes (hidepid)",
          "a neighbour that takes the CPU is not named", "run the agent as root, or in the group of the mount's gid="};
}

Check check_socket_queue(const HostRoots& roots) {
  const std::optional<int64_t> length = integer_in(roots.proc + "/sys/net/unix/max_dgram_qlen");
  if (!length) return {"socket_queue", CheckState::kOk, "net.unix.max_dgram_qlen is not told here", "", ""};
  Check check{"socket_queue", CheckState::kOk, fmt::format("{} datagrams wait at a socket", *length + 1), "", ""};
  if (*length >= kLeastQueue) return check;
  check.state = CheckState::kLimited;
  check.cost = "messages of the ranks are lost when they come together (they are counted)";
  check.remedy = "sysctl net.unix.max_dgram_qlen=512";
  return check;
}

Check check_clock(const HostRoots& roots) {
  const std::string path = roots.sys + "/devices/system/clocksource/clocksource0/current_clocksource";
  const std::string name = first_line(contents(path).value_or(""));
  if (name.empty()) return {"clock", CheckState::kOk, "the clock's source is not told here", "", ""};
  constexpr std::array<std::string_view, 4> kSlow = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
  Check check{"clock", CheckState::kOk, name, "", ""};
  for (const std::string_view slow : kSlow) {
    if (name != slow) continue;
    check.state = CheckState::kLimited;
    check.cost = "each time stamp of a trace is a system call, so that profiling costs more";
    check.remedy = "find out why the kernel gave up on tsc (dmesg), or boot with tsc=reliable";
  }
  return check;
}

Check check_perf(const HostRoots& roots, bool works) {
  const std::optional<int64_t> paranoid = integer_in(roots.proc + "/sys/kernel/perf_event_paranoid");
  const std::string level = paranoid ? fmt::format(" (kernel.perf_event_paranoid = {})", *paranoid) : "";
  if (works)
    return {"perf_events", CheckState::kOk, "context switches of our own threads can be recorded" + level, "", ""};
  const bool is_barred = paranoid && *paranoid > 2;
  return {
      "perf_events", CheckState::kLimited, "perf_event_open is refused" + level,
      "when a thread was displaced, and when it slept, is told by coarser counters",
      is_barred ? "sysctl kernel.perf_event_paranoid=2" : "allow perf_event_open in the container's seccomp profile"};
}

Check check_ptrace(const HostRoots& roots, bool works, bool is_root, const std::string& py_spy) {
  const int64_t scope = integer_in(roots.proc + "/sys/kernel/yama/ptrace_scope").value_or(0);
  const std::string lost =
      "Python stacks come from inside the job alone (stacks = \"trace\"); with \"sample\", and for ranks too busy to "
      "be "
      "traced, there are none";
  if (!works || scope >= 3) {
    return {"ptrace", CheckState::kLimited, fmt::format("ptrace is refused (kernel.yama.ptrace_scope = {})", scope),
            lost,
            scope >= 3 ? "sysctl kernel.yama.ptrace_scope=1, after a reboot without 3"
                       : "allow ptrace: docker run --cap-add SYS_PTRACE"};
  }
  if (py_spy.empty()) {
    return {"ptrace", CheckState::kLimited, "ptrace works, py-spy is not installed", lost, "pip install py-spy"};
  }
  if (scope >= 1 && !is_root) {
    return {
        "ptrace", CheckState::kLimited,
        fmt::format("py-spy is there, but only a parent may look at a process (kernel.yama.ptrace_scope = {})", scope),
        lost, "sysctl kernel.yama.ptrace_scope=0, or run the agent as root"};
  }
  return {"ptrace", CheckState::kOk, py_spy, "", ""};
}

Check check_nvidia(const HostRoots& roots, const std::string& library) {
  const bool has_device = exists(roots.dev + "/nvidiactl") || exists(roots.proc + "/driver/nvidia/version");
  if (!has_device) return {"nvidia", CheckState::kOk, "no NVIDIA GPU here", "", ""};
  if (!library.empty()) return {"nvidia", CheckState::kOk, library, "", ""};
  return {"nvidia", CheckState::kMissing, "there is a GPU, but libnvidia-ml.so.1 cannot be loaded",
          "clocks, throttling, errors and links of GPUs are not seen",
          "install the driver's libraries, or start the container with NVIDIA_DRIVER_CAPABILITIES=all"};
}

Check check_amd(const HostRoots& roots, const std::string& library) {
  if (!exists(roots.dev + "/kfd")) return {"amd", CheckState::kOk, "no AMD GPU here", "", ""};
  if (!library.empty()) return {"amd", CheckState::kOk, library, "", ""};
  return {"amd", CheckState::kMissing, "there is a GPU, but librocm_smi64.so cannot be loaded",
          "clocks, throttling, errors and links of GPUs are not seen", "install rocm-smi-lib"};
}

Check check_disk(const DiskFacts& facts) {
  Check check{"trace_disk", CheckState::kOk, "", "", ""};
  if (facts.error != 0) {
    return {check.name, CheckState::kMissing, fmt::format("{}: {}", facts.path, std::strerror(facts.error)),
            "nothing can be profiled",
            "set EROICA_JOBS_DIR to a folder of at most 32 characters that can be written to"};
  }
  check.found = fmt::format("{}: {:.1f} GB are free", facts.path, static_cast<double>(facts.free_bytes) / kGb);
  if (facts.free_bytes < 10 * kGb) {
    check.state = facts.free_bytes < kGb ? CheckState::kMissing : CheckState::kLimited;
    check.cost = "a window of a large job may not fit: up to 1 GB a rank with Python stacks";
    check.remedy = "make room, or set EROICA_JOBS_DIR";
  }
  if (facts.kind == TMPFS_MAGIC) {
    check.found += ", in memory (tmpfs)";
    if (check.state == CheckState::kOk) check.state = CheckState::kLimited;
    if (check.cost.empty()) check.cost = "traces take memory from the job while a window is analysed";
    if (check.remedy.empty()) check.remedy = "set EROICA_JOBS_DIR to a folder on a disk";
  }
  constexpr uint64_t kLustre = 0x0BD00BD0;
  if (facts.kind == NFS_SUPER_MAGIC || facts.kind == kLustre) {
    check.found += ", on a network file system";
    check.state = CheckState::kMissing;
    check.cost = "sockets may not work there, and traces load the network that the job needs";
    check.remedy = "set EROICA_JOBS_DIR to a folder on a local disk";
  }
  return check;
}

Check check_limits(const LimitFacts& facts) {
  Check check{"limits", CheckState::kOk, "", "", ""};
  check.found = fmt::format("{} open files", facts.open_files);
  const auto limited = [&](const std::string& found, const std::string& cost, const std::string& remedy) {
    check.state = CheckState::kLimited;
    check.found += ", " + found;
    check.cost += (check.cost.empty() ? "" : "; ") + cost;
    check.remedy += (check.remedy.empty() ? "" : "; ") + remedy;
  };
  if (facts.open_files < kLeastFiles) limited("too few", "threads of some ranks are not recorded", "ulimit -n 4096");
  if (facts.file_bytes < 10 * kGb) {
    limited(fmt::format("files of at most {} MB", facts.file_bytes / 1'000'000), "longer traces are cut",
            "ulimit -f unlimited");
  }
  if (facts.locked_bytes < kLeastLocked) {
    limited(fmt::format("{} KB of locked memory", facts.locked_bytes / 1024), "switches of fewer threads are recorded",
            "ulimit -l unlimited");
  }
  return check;
}

}  // namespace eroica
