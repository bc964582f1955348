#include "sample/rocm_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "sample/rocm_smi_abi.h"

namespace eroica {
namespace {

using rocm_smi::GpuMetrics;
using rocm_smi::kNoFunction;
using rocm_smi::kSuccess;
using rocm_smi::ProcessInfo;
using rocm_smi::Status;

constexpr uint32_t kMostGpus = 64;
constexpr uint32_t kMostProcesses = 1024;
constexpr double kMega = 1e6;

/// The library's functions, by their names in it.
struct Functions {
  template <typename Signature>
  using Function = VendorFunction<Signature>;

  Functions(const VendorLibrary& from, CallWatch& watch)
      : init(from, watch, {"rsmi_init"}),
        count(from, watch, {"rsmi_num_monitor_devices"}),
        model(from, watch, {"rsmi_dev_name_get"}),
        unique_id(from, watch, {"rsmi_dev_unique_id_get"}),
        bus_id(from, watch, {"rsmi_dev_pci_id_get"}),
        metrics(from, watch, {"rsmi_dev_gpu_metrics_info_get"}),
        power_now(from, watch, {"rsmi_dev_current_socket_power_get"}),
        power_mean(from, watch, {"rsmi_dev_power_ave_get"}),
        power_cap(from, watch, {"rsmi_dev_power_cap_get"}),
        temperature(from, watch, {"rsmi_dev_temp_metric_get"}),
        errors(from, watch, {"rsmi_dev_ecc_count_get"}),
        replays(from, watch, {"rsmi_dev_pci_replay_counter_get"}),
        processes(from, watch, {"rsmi_compute_process_info_get"}),
        gpus_of(from, watch, {"rsmi_compute_process_gpus_get"}),
        process_on_gpu(from, watch, {"rsmi_compute_process_info_by_device_get"}) {}

  Function<Status(uint64_t)> init;
  Function<Status(uint32_t*)> count;
  Function<Status(uint32_t, char*, size_t)> model;
  Function<Status(uint32_t, uint64_t*)> unique_id;
  Function<Status(uint32_t, uint64_t*)> bus_id;
  Function<Status(uint32_t, GpuMetrics*)> metrics;
  Function<Status(uint32_t, uint64_t*)> power_now;
  Function<Status(uint32_t, uint32_t, uint64_t*)> power_mean;
  Function<Status(uint32_t, uint32_t, uint64_t*)> power_cap;
  Function<Status(uint32_t, uint32_t, int, int64_t*)> temperature;
  Function<Status(uint32_t, uint64_t, rocm_smi::ErrorCount*)> errors;
  Function<Status(uint32_t, uint64_t*)> replays;
  Function<Status(ProcessInfo*, uint32_t*)> processes;
  Function<Status(uint32_t, uint32_t*, uint32_t*)> gpus_of;
  Function<Status(uint32_t, uint32_t, ProcessInfo*)> process_on_gpu;
};

/// Does the GPU tell this member?
template <typename Number>
bool told(Number value) {
  return value != std::numeric_limits<Number>::max();
}

/// Of a link of that speed; 0: none.
int pcie_generation(uint16_t tenths_of_gigatransfers) {
  constexpr std::array<uint16_t, 6> kSpeeds = {25, 50, 80, 160, 320, 640};
  const auto found = std::ranges::find(kSpeeds, tenths_of_gigatransfers);
  return found == kSpeeds.end() ? 0 : static_cast<int>(found - kSpeeds.begin()) + 1;
}

/// "0000:c1:00.0"
std::string bus_name(uint64_t id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", id >> 32, (id >> 8) & 0xff, (id >> 3) & 0x1f, id & 0x7);
}

class RocmSmi : public GpuLibrary {
 public:
  RocmSmi(CallWatch& watch, std::string path) : watch_(watch), path_(std::move(path)) {}

  [[nodiscard]] std::string_view name() const override { return "AMD GPUs"; }
  [[nodiscard]] GpuVendor vendor() const override { return GpuVendor::kAmd; }

  std::vector<GpuIdentity> start(std::string& problem) override {
    watch_.begin("dlopen");
    const VendorLibrary library = path_.empty()
                                      ? VendorLibrary({"librocm_smi64.so.1", "librocm_smi64.so.7", "librocm_smi64.so.6",
                                                       "librocm_smi64.so", "/opt/rocm/lib/librocm_smi64.so"})
                                      : VendorLibrary(path_);
    watch_.end();
    if (!library.loaded()) return {};
    functions_.emplace(library, watch_);
    if (const Status status = functions_->init.call(kNoFunction, 0); status != kSuccess) {
      // A container's image may bring the library to a machine without such a GPU.
      if (status != rocm_smi::kInitError) problem = fmt::format("rsmi_init gives {}", status);
      return {};
    }
    uint32_t count = 0;
    if (const Status status = functions_->count.call(kNoFunction, &count); status != kSuccess) {
      problem = fmt::format("rsmi_num_monitor_devices gives {}", status);
    }
    std::vector<GpuIdentity> found;
    for (uint32_t i = 0; i < std::min(count, kMostGpus); ++i) found.push_back(identity(i));
    return found;
  }

  void read(GpuPace pace, GpuReading& into) override {
    const auto gpu = static_cast<uint32_t>(into.gpu);
    if (pace == GpuPace::kFast) read_fast(gpu, into);
    if (pace == GpuPace::kSlow) read_slow(gpu, into);
  }

 private:
  [[nodiscard]] GpuIdentity identity(uint32_t gpu) const {
    GpuIdentity found{.index = static_cast<int32_t>(gpu)};
    std::array<char, 128> text{};
    if (functions_->model.call(kNoFunction, gpu, text.data(), text.size() - 1) == kSuccess) found.model = text.data();
    uint64_t id = 0;
    if (functions_->unique_id.call(kNoFunction, gpu, &id) == kSuccess) found.uuid = fmt::format("GPU-{:016x}", id);
    if (functions_->bus_id.call(kNoFunction, gpu, &id) == kSuccess) found.bus_id = bus_name(id);
    return found;
  }

  void read_fast(uint32_t gpu, GpuReading& into) {
    metrics_ = {};
    const bool has_metrics = functions_->metrics.call(kNoFunction, gpu, &metrics_) == kSuccess;
    if (has_metrics) tell_metrics(into);
    uint64_t microwatts = 0;
    if (has_metrics && told(metrics_.current_watts) && metrics_.current_watts > 0) {
      into.level(GpuSignal::kPower, metrics_.current_watts);
    } else if (functions_->power_now.call(kNoFunction, gpu, &microwatts) == kSuccess ||
               functions_->power_mean.call(kNoFunction, gpu, 0, &microwatts) == kSuccess) {
      into.level(GpuSignal::kPower, static_cast<double>(microwatts) * 1e-6);
    }
  }

  void tell_metrics(GpuReading& into) const {
    // From 1.4 on the chip has parts with clocks of their own, and says no longer what throttles it.
    const bool has_parts = metrics_.format > 1 || (metrics_.format == 1 && metrics_.content >= 4);
    const uint16_t compute_mhz = has_parts ? mean_clock() : metrics_.current_mhz[0];
    if (told(compute_mhz) && compute_mhz > 0) into.level(GpuSignal::kSmClock, compute_mhz * kMega);
    if (told(metrics_.current_mhz[2]) && metrics_.current_mhz[2] > 0) {
      into.level(GpuSignal::kMemClock, metrics_.current_mhz[2] * kMega);
    }
    if (told(metrics_.activity[1])) into.level(GpuSignal::kDramActive, metrics_.activity[1] * 0.01);
    if (has_parts && told(metrics_.locked_clocks)) {
      into.level(GpuSignal::kClockLocked, metrics_.locked_clocks != 0 ? 1 : 0);
    }
    if (!has_parts && told(metrics_.throttled_by)) {
      const auto held = [&](GpuSignal signal, uint64_t bits) {
        into.level(signal, (metrics_.throttled_by & bits) != 0 ? 1 : 0);
      };
      held(GpuSignal::kThrottleThermal, rocm_smi::kByHeat);
      held(GpuSignal::kThrottlePower, rocm_smi::kByPower);
      held(GpuSignal::kThrottleBrake, rocm_smi::kByBrake);
    }
    if (told(metrics_.pcie_width) && metrics_.pcie_width > 0) {
      into.level(GpuSignal::kPcieWidth, metrics_.pcie_width);
    }
    if (const int generation = pcie_generation(metrics_.pcie_speed)) {
      into.level(GpuSignal::kPcieGeneration, generation);
    }
  }

  [[nodiscard]] uint16_t mean_clock() const {
    uint32_t sum = 0;
    uint32_t count = 0;
    for (const uint16_t one : metrics_.compute_mhz) {
      if (!told(one) || one == 0) continue;
      sum += one;
      ++count;
    }
    return static_cast<uint16_t>(count == 0 ? 0 : sum / count);
  }

  void read_slow(uint32_t gpu, GpuReading& into) const {
    uint64_t value = 0;
    if (functions_->power_cap.call(kNoFunction, gpu, 0, &value) == kSuccess) {
      into.level(GpuSignal::kPowerLimit, static_cast<double>(value) * 1e-6);
    }
    int64_t millidegrees = 0;
    for (const uint32_t sensor : {rocm_smi::kSensorJunction, rocm_smi::kSensorEdge}) {
      if (functions_->temperature.call(kNoFunction, gpu, sensor, rocm_smi::kCurrent, &millidegrees) != kSuccess)
        continue;
      into.level(GpuSignal::kTemperature, static_cast<double>(millidegrees) * 1e-3);
      break;
    }
    rocm_smi::ErrorCount errors;
    if (functions_->errors.call(kNoFunction, gpu, rocm_smi::kBlockMemory, &errors) == kSuccess) {
      into.counter(GpuSignal::kEcc, errors.corrected + errors.uncorrected, 1);
    }
    if (functions_->replays.call(kNoFunction, gpu, &value) == kSuccess) {
      into.counter(GpuSignal::kPcieReplay, value, 1);
    }
    read_processes(gpu, into);
  }

  void read_processes(uint32_t gpu, GpuReading& into) const {
    std::vector<ProcessInfo> all(kMostProcesses);
    auto count = static_cast<uint32_t>(all.size());
    if (functions_->processes.call(kNoFunction, all.data(), &count) != kSuccess) return;
    all.resize(std::min<size_t>(count, all.size()));
    into.processes.emplace();
    for (const ProcessInfo& process : all) {
      std::array<uint32_t, kMostGpus> gpus{};
      auto used = static_cast<uint32_t>(gpus.size());
      if (functions_->gpus_of.call(kNoFunction, process.pid, gpus.data(), &used) != kSuccess) continue;
      const auto end = gpus.begin() + std::min<size_t>(used, gpus.size());
      if (std::find(gpus.begin(), end, gpu) == end) continue;
      // The memory that the list tells is that of all GPUs together.
      GpuProcess& here = into.processes->emplace_back(GpuProcess{.pid = static_cast<pid_t>(process.pid)});
      ProcessInfo on_gpu;
      if (functions_->process_on_gpu.call(kNoFunction, process.pid, gpu, &on_gpu) == kSuccess) {
        here.used_bytes = on_gpu.memory_bytes;
      } else if (used == 1) {
        here.used_bytes = process.memory_bytes;
      }
    }
  }

  CallWatch& watch_;
  std::string path_;
  std::optional<Functions> functions_;
  GpuMetrics metrics_;
};

}  // namespace

std::unique_ptr<GpuLibrary> rocm_library(CallWatch& watch, std::string path) {
  return std::make_unique<RocmSmi>(watch, std::move(path));
}

}  // namespace eroica
