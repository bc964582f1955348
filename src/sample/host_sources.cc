#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <map>
#include <utility>

#include "sample/fields.h"
#include "sample/host_text.h"
#include "sample/sample_source.h"

namespace eroica {
namespace {

std::string host_entity(const std::string& name) { return "host " + name; }

class Cpus : public SampleSource {
 public:
  Cpus(const SystemFiles& files, std::string host) : files_(files), host_(std::move(host)) {}

  void sample(SampleLog& log) override {
    if (!files_.read("/proc/stat", text_)) return;
    for (const CpuTicks& now : parse_cpu_ticks(text_)) {
      const auto [found, is_new] = before_.try_emplace(now.cpu, now);
      const CpuTicks before = std::exchange(found->second, now);
      if (!is_new && now.total <= before.total) continue;
      const auto ticks = static_cast<double>(now.total - before.total);
      const auto tell = [&](const std::string& entity, std::string_view metric, uint64_t CpuTicks::*which) {
        const double grew = now.*which > before.*which ? static_cast<double>(now.*which - before.*which) : 0;
        log.level(entity, metric, "fraction", is_new ? 0 : grew / ticks);
      };
      if (now.cpu >= 0) {
        tell(fmt::format("{}/cpu{}", host_, now.cpu), "cpu.softirq", &CpuTicks::softirq);
        continue;
      }
      tell(host_, "cpu.busy", &CpuTicks::busy);
      tell(host_, "cpu.softirq", &CpuTicks::softirq);
      tell(host_, "cpu.irq", &CpuTicks::irq);
      tell(host_, "cpu.steal", &CpuTicks::steal);
      tell(host_, "cpu.iowait", &CpuTicks::iowait);
    }
  }

 private:
  const SystemFiles& files_;
  std::string host_;
  std::map<int32_t, CpuTicks> before_;
  std::string text_;
};

/// Pressure, and what memory management does.
class Pressure : public SampleSource {
 public:
  Pressure(const SystemFiles& files, std::string host) : files_(files), host_(std::move(host)) {}

  void sample(SampleLog& log) override {
    for (const std::string_view what : {"cpu", "io", "memory"}) {
      if (!files_.read(fmt::format("/proc/pressure/{}", what), text_)) continue;
      if (const std::optional<uint64_t> us = parse_pressure_us(text_)) {
        log.growth(host_, fmt::format("pressure.{}", what), "fraction", *us, 1e-6);
      }
    }
    if (!files_.read("/proc/vmstat", text_)) return;
    if (const auto swapped = number_after(text_, "pswpin")) log.growth(host_, "memory.swap_in", "per_s", *swapped);
    if (const auto stalls = number_after(text_, "compact_stall")) {
      log.growth(host_, "memory.compact_stall", "per_s", *stalls);
    }
  }

 private:
  const SystemFiles& files_;
  std::string host_;
  std::string text_;
};

/// What processes outside of the job use: all that processes used, less what the job's did.
class Foreign : public SampleSource {
 public:
  Foreign(const SystemFiles& files, std::string host, ProcessTree& tree)
      : files_(files), host_(std::move(host)), tree_(tree) {}

  void sample(SampleLog& log) override {
    tree_.look();
    if (!files_.read("/proc/stat", text_)) return;
    const std::vector<CpuTicks> cpus = parse_cpu_ticks(text_);
    if (cpus.empty()) return;
    if (!begun_) first_ticks_ = cpus.front().work;
    begun_ = true;
    const uint64_t all = cpus.front().work - std::min(first_ticks_, cpus.front().work);
    foreign_ticks_ = std::max(foreign_ticks_, all - std::min(all, tree_.job_ticks()));
    log.growth(host_, "cpu.foreign", "cores", foreign_ticks_, 1 / ticks_per_s_);
  }

 private:
  const SystemFiles& files_;
  std::string host_;
  ProcessTree& tree_;
  double ticks_per_s_ = static_cast<double>(sysconf(_SC_CLK_TCK));
  uint64_t first_ticks_ = 0;
  uint64_t foreign_ticks_ = 0;
  bool begun_ = false;
  std::string text_;
};

/// The mean clock of the CPUs that were busy since the last reading.
class Frequency : public SampleSource {
 public:
  Frequency(const SystemFiles& files, std::string host) : files_(files), host_(std::move(host)) {}

  void sample(SampleLog& log) override {
    if (!files_.read("/proc/stat", text_)) return;
    double hz = 0;
    double weight = 0;
    for (const CpuTicks& now : parse_cpu_ticks(text_)) {
      if (now.cpu < 0) continue;
      const auto [found, is_new] = busy_.try_emplace(now.cpu, now.busy);
      const uint64_t before = std::exchange(found->second, now.busy);
      if (is_new || now.busy <= before) continue;
      std::string_view text = text_of_clock(now.cpu);
      const std::optional<uint64_t> khz = take_number(text);
      if (!khz) continue;
      const auto ticks = static_cast<double>(now.busy - before);
      hz += ticks * static_cast<double>(*khz) * 1e3;
      weight += ticks;
    }
    if (weight > 0) log.level(host_, "cpu.frequency", "hz", hz / weight);
  }

 private:
  std::string_view text_of_clock(int32_t cpu) {
    if (!files_.read(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu), clock_)) return {};
    return clock_;
  }

  const SystemFiles& files_;
  std::string host_;
  std::map<int32_t, uint64_t> busy_;
  std::string text_;
  std::string clock_;
};

class Disks : public SampleSource {
 public:
  Disks(const SystemFiles& files, std::string host) : files_(files), host_(std::move(host)) {
    for (std::string& name : files.list("/sys/block")) {  // partitions are not among them
      if (!name.starts_with("loop") && !name.starts_with("ram") && !name.starts_with("zram")) {
        disks_.emplace(std::move(name), DiskCounters{});
      }
    }
  }

  void sample(SampleLog& log) override {
    if (!files_.read("/proc/diskstats", text_)) return;
    for (const DiskCounters& now : parse_disks(text_)) {
      const auto found = disks_.find(now.name);
      if (found == disks_.end() || now.requests == 0) continue;
      const DiskCounters before = std::exchange(found->second, now);
      const std::string entity = fmt::format("{}/disk {}", host_, now.name);
      log.growth(entity, "disk.read", "bytes_per_s", now.read_bytes);
      log.growth(entity, "disk.write", "bytes_per_s", now.written_bytes);
      log.growth(entity, "disk.busy", "fraction", now.busy_ms, 1e-3);
      // A mean over requests: where there were none there is none.
      if (before.requests > 0 && now.requests > before.requests && now.request_ms >= before.request_ms) {
        log.level(entity, "disk.await", "ms",
                  static_cast<double>(now.request_ms - before.request_ms) /
                      static_cast<double>(now.requests - before.requests));
      }
    }
  }

 private:
  const SystemFiles& files_;
  std::string host_;
  std::map<std::string, DiskCounters> disks_;  // as read last
  std::string text_;
};

/// File systems of other machines, as the first rank of each host sees them.
class RemoteStorage : public SampleSource {
 public:
  RemoteStorage(const SystemFiles& files, const SampledJob& job) : files_(files) {
    for (const SampledRank& rank : job.ranks) {
      const auto [host, is_new] = hosts_.try_emplace(rank.host, Host{rank.pid, {}, false});
      if (is_new) host->second.local = !has_remote_mounts(files.read(fmt::format("/proc/{}/mountinfo", rank.pid)));
    }
  }

  void sample(SampleLog& log) override {
    for (auto& [name, host] : hosts_) {
      const std::string entity = host_entity(name);
      if (!files_.read(fmt::format("/proc/{}/mountstats", host.pid), text_)) continue;
      const RemoteCalls now = parse_remote_calls(text_);
      if (now.mounts == 0) {
        // Without any the calls are known to be none; others than NFS do not tell.
        if (host.local) log.growth(entity, "fs.remote_ops", "per_s", 0);
        continue;
      }
      log.growth(entity, "fs.remote_ops", "per_s", now.calls);
      if (host.before.mounts > 0 && now.calls > host.before.calls && now.round_trip_ms >= host.before.round_trip_ms) {
        log.level(entity, "fs.remote_rtt", "ms",
                  static_cast<double>(now.round_trip_ms - host.before.round_trip_ms) /
                      static_cast<double>(now.calls - host.before.calls));
      }
      host.before = now;
    }
  }

 private:
  struct Host {
    pid_t pid;
    RemoteCalls before;
    bool local = false;  // no file system of other machines is mounted
  };
  const SystemFiles& files_;
  std::map<std::string, Host> hosts_;
  std::string text_;
};

}  // namespace

std::unique_ptr<SampleSource> cpu_source(const SystemFiles& files, const std::string& machine) {
  return std::make_unique<Cpus>(files, host_entity(machine));
}

std::unique_ptr<SampleSource> pressure_source(const SystemFiles& files, const std::string& machine) {
  return std::make_unique<Pressure>(files, host_entity(machine));
}

std::unique_ptr<SampleSource> foreign_source(const SystemFiles& files, const std::string& machine, ProcessTree& tree) {
  return std::make_unique<Foreign>(files, host_entity(machine), tree);
}

std::unique_ptr<SampleSource> frequency_source(const SystemFiles& files, const std::string& machine) {
  return std::make_unique<Frequency>(files, host_entity(machine));
}

std::unique_ptr<SampleSource> disk_source(const SystemFiles& files, const std::string& machine) {
  return std::make_unique<Disks>(files, host_entity(machine));
}

std::unique_ptr<SampleSource> remote_storage_source(const SystemFiles& files, const SampledJob& job) {
  return std::make_unique<RemoteStorage>(files, job);
}

}  // namespace eroica
