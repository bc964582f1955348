#include "sample/host_text.h"

#include <algorithm>
#include <array>

#include "sample/fields.h"

namespace eroica {
namespace {

constexpr size_t kMostCpus = 4096;
constexpr size_t kMostDevices = 1024;
constexpr uint64_t kSectorBytes = 512;

/// The first `values.size()` fields, all of them numbers.
template <size_t N>
bool take_numbers(std::string_view& line, std::array<uint64_t, N>& values) {
  for (uint64_t& value : values) {
    const std::optional<uint64_t> number = take_number(line);
    if (!number) return false;
    value = *number;
  }
  return true;
}

}  // namespace

std::vector<CpuTicks> parse_cpu_ticks(std::string_view proc_stat) {
  std::vector<CpuTicks> cpus;
  while (!proc_stat.empty() && cpus.size() <= kMostCpus) {
    std::string_view line = take_line(proc_stat);
    std::string_view name = take_field(line);
    if (!name.starts_with("cpu")) break;  // they stand first
    name.remove_prefix(3);
    CpuTicks cpu;
    if (!name.empty()) {
      const std::optional<int32_t> number = whole_number<int32_t>(name);
      if (!number) break;
      cpu.cpu = *number;
    }
    std::array<uint64_t, 7> ticks{};  // user, nice, system, idle, iowait, irq, softirq
    if (!take_numbers(line, ticks)) break;
    cpu.steal = take_number(line).value_or(0);
    cpu.work = ticks[0] + ticks[1] + ticks[2];
    cpu.iowait = ticks[4];
    cpu.irq = ticks[5];
    cpu.softirq = ticks[6];
    cpu.busy = cpu.work + cpu.irq + cpu.softirq + cpu.steal;
    cpu.total = cpu.busy + ticks[3] + cpu.iowait;
    cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<uint64_t> parse_pressure_us(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_field(line) != "some") continue;
    for (std::string_view field = take_field(line); !field.empty(); field = take_field(line)) {
      if (field.starts_with("total=")) return whole_number(field.substr(6));
    }
  }
  return std::nullopt;
}

std::vector<DiskCounters> parse_disks(std::string_view diskstats) {
  std::vector<DiskCounters> disks;
  while (!diskstats.empty() && disks.size() < kMostDevices) {
    std::string_view line = take_line(diskstats);
    take_field(line);
    take_field(line);  // its numbers
    DiskCounters disk;
    disk.name = take_field(line);
    // reads: ended, merged, sectors, ms; writes: the same; under way, busy ms
    std::array<uint64_t, 10> values{};
    if (disk.name.empty() || !take_numbers(line, values)) continue;
    disk.requests = values[0] + values[4];
    disk.read_bytes = values[2] * kSectorBytes;
    disk.written_bytes = values[6] * kSectorBytes;
    disk.request_ms = values[3] + values[7];
    disk.busy_ms = values[9];
    disks.push_back(std::move(disk));
  }
  return disks;
}

std::vector<NicCounters> parse_nics(std::string_view net_dev) {
  std::vector<NicCounters> nics;
  while (!net_dev.empty() && nics.size() < kMostDevices) {
    std::string_view line = take_line(net_dev);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view before = line.substr(0, colon);
    std::string_view after = line.substr(colon + 1);
    NicCounters nic;
    nic.name = take_field(before);
    // received: bytes, packets, errors, drops, fifo, frame, compressed, multicast; sent: bytes, packets, errors, drops
    std::array<uint64_t, 12> values{};
    if (nic.name.empty() || !take_numbers(after, values)) continue;
    nic.received_bytes = values[0];
    nic.sent_bytes = values[8];
    nic.errors = values[2] + values[10];
    nic.drops = values[3] + values[11];
    nics.push_back(std::move(nic));
  }
  return nics;
}

RemoteCalls parse_remote_calls(std::string_view mountstats) {
  RemoteCalls remote;
  bool in_operations = false;
  while (!mountstats.empty()) {
    std::string_view line = take_line(mountstats);
    if (line.starts_with("device ")) {
      in_operations = false;
      const size_t type = line.find(" with fstype nfs");
      if (type != std::string_view::npos) ++remote.mounts;
      continue;
    }
    std::string_view rest = line;
    const std::string_view name = take_field(rest);
    if (name == "per-op") {
      in_operations = true;
      continue;
    }
    if (!in_operations || !name.ends_with(':')) continue;
    // operations, transmissions, timeouts, bytes sent, bytes received, queued ms, round trip ms, total ms
    std::array<uint64_t, 7> values{};
    if (!take_numbers(rest, values)) continue;
    remote.calls += values[0];
    remote.round_trip_ms += values[6];
  }
  return remote;
}

bool has_remote_mounts(std::string_view mountinfo) {
  constexpr std::array<std::string_view, 16> kRemote = {"nfs",    "cifs",     "smb",  "ceph", "lustre", "gpfs",
                                                        "beegfs", "gluster",  "fuse", "9p",   "virtio", "afs",
                                                        "pvfs",   "orangefs", "weka", "gfs"};
  while (!mountinfo.empty()) {
    const std::string_view line = take_line(mountinfo);
    const size_t separator = line.find(" - ");
    if (separator == std::string_view::npos) continue;
    std::string_view rest = line.substr(separator + 3);
    const std::string_view type = take_field(rest);
    const bool controls_fuse = type == "fusectl";
    if (!controls_fuse && std::ranges::any_of(kRemote, [&](std::string_view t) { return type.starts_with(t); }))
      return true;
  }
  return false;
}

}  // namespace eroica
