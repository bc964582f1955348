// Stands in for librocm_smi64.so.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "sample/rocm_smi_abi.h"
#include "stand_in/played_devices.h"

namespace {

using eroica::rocm_smi::GpuMetrics;
using eroica::rocm_smi::kSuccess;
using eroica::rocm_smi::Status;
using eroica::stand_in::enter;
using eroica::stand_in::script;

constexpr Status kInvalid = 1;
constexpr Status kNotSupported = 2;

/// The value of a key, as the function gives it.
template <typename Number>
Status give(const char* function, uint32_t gpu, const std::string& key, Number* into) {
  if (const auto status = enter(function)) return *status;
  if (gpu >= script().devices.size()) return kInvalid;
  const std::optional<double> value = eroica::stand_in::value(script().devices[gpu], key);
  if (!value) return kNotSupported;
  *into = static_cast<Number>(std::llround(*value));
  return kSuccess;
}

template <typename Number>
void put(uint32_t gpu, const std::string& key, Number& into) {
  const std::optional<double> value = eroica::stand_in::value(script().devices[gpu], key);
  if (value) into = static_cast<Number>(std::llround(*value));
}

}  // namespace

extern "C" {

Status rsmi_init(uint64_t /*flags*/) {
  if (!eroica::stand_in::start()) return eroica::rocm_smi::kInitError;
  return enter("rsmi_init").value_or(kSuccess);
}

Status rsmi_num_monitor_devices(uint32_t* count) {
  if (const auto status = enter("rsmi_num_monitor_devices")) return *status;
  *count = static_cast<uint32_t>(script().devices.size());
  return kSuccess;
}

Status rsmi_dev_name_get(uint32_t gpu, char* text, size_t length) {
  if (const auto status = enter("rsmi_dev_name_get")) return *status;
  std::snprintf(text, length, "%s", script().devices.at(gpu).model.c_str());
  return kSuccess;
}

Status rsmi_dev_unique_id_get(uint32_t gpu, uint64_t* id) { return give("rsmi_dev_unique_id_get", gpu, "id", id); }
Status rsmi_dev_pci_id_get(uint32_t gpu, uint64_t* id) { return give("rsmi_dev_pci_id_get", gpu, "bus", id); }

Status rsmi_dev_gpu_metrics_info_get(uint32_t gpu, GpuMetrics* metrics) {
  if (const auto status = enter("rsmi_dev_gpu_metrics_info_get")) return *status;
  constexpr size_t kKnown = offsetof(GpuMetrics, room);
  std::memset(static_cast<void*>(metrics), 0xff, kKnown);
  metrics->format = 1;
  metrics->content = 3;
  put(gpu, "content", metrics->content);
  put(gpu, "compute_mhz", metrics->current_mhz[0]);
  put(gpu, "memory_mhz", metrics->current_mhz[2]);
  put(gpu, "memory_activity", metrics->activity[1]);
  put(gpu, "throttled_by", metrics->throttled_by);
  put(gpu, "locked_clocks", metrics->locked_clocks);
  put(gpu, "watts", metrics->current_watts);
  put(gpu, "pcie_width", metrics->pcie_width);
  put(gpu, "pcie_speed", metrics->pcie_speed);
  for (size_t i = 0; i < metrics->compute_mhz.size(); ++i) {
    put(gpu, "part_mhz." + std::to_string(i), metrics->compute_mhz[i]);
  }
  return kSuccess;
}

Status rsmi_dev_power_ave_get(uint32_t gpu, uint32_t /*sensor*/, uint64_t* microwatts) {
  return give("rsmi_dev_power_ave_get", gpu, "mean_microwatts", microwatts);
}

Status rsmi_dev_power_cap_get(uint32_t gpu, uint32_t /*sensor*/, uint64_t* microwatts) {
  return give("rsmi_dev_power_cap_get", gpu, "cap_microwatts", microwatts);
}

Status rsmi_dev_temp_metric_get(uint32_t gpu, uint32_t sensor, int /*metric*/, int64_t* millidegrees) {
  return give("rsmi_dev_temp_metric_get", gpu, "millidegrees." + std::to_string(sensor), millidegrees);
}

// As versions before the member of deferred errors: no more is written.
Status rsmi_dev_ecc_count_get(uint32_t gpu, uint64_t /*block*/, eroica::rocm_smi::ErrorCount* count) {
  const Status status = give("rsmi_dev_ecc_count_get", gpu, "corrected", &count->corrected);
  return status != kSuccess ? status : give("rsmi_dev_ecc_count_get", gpu, "uncorrected", &count->uncorrected);
}

Status rsmi_dev_pci_replay_counter_get(uint32_t gpu, uint64_t* count) {
  return give("rsmi_dev_pci_replay_counter_get", gpu, "replays", count);
}

Status rsmi_compute_process_info_get(eroica::rocm_smi::ProcessInfo* into, uint32_t* count) {
  if (const auto status = enter("rsmi_compute_process_info_get")) return *status;
  std::map<int, uint64_t> all;  // memory of all GPUs together
  for (const auto& device : script().devices) {
    for (const auto& [pid, bytes] : eroica::stand_in::processes(device)) all[pid] += bytes;
  }
  uint32_t written = 0;
  for (const auto& [pid, bytes] : all) {
    if (written < *count) into[written++] = {static_cast<uint32_t>(pid), 0, bytes, 0, 0};
  }
  *count = written;
  return kSuccess;
}

Status rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t gpu, eroica::rocm_smi::ProcessInfo* into) {
  if (const auto status = enter("rsmi_compute_process_info_by_device_get")) return *status;
  if (gpu >= script().devices.size()) return kInvalid;
  for (const auto& [process, bytes] : eroica::stand_in::processes(script().devices[gpu])) {
    if (process != static_cast<int>(pid)) continue;
    *into = {pid, 0, bytes, 0, 0};
    return kSuccess;
  }
  return kNotSupported;
}

Status rsmi_compute_process_gpus_get(uint32_t pid, uint32_t* gpus, uint32_t* count) {
  if (const auto status = enter("rsmi_compute_process_gpus_get")) return *status;
  uint32_t written = 0;
  for (uint32_t gpu = 0; gpu < script().devices.size(); ++gpu) {
    const auto here = eroica::stand_in::processes(script().devices[gpu]);
    const bool computes = std::ranges::any_of(here, [&](const auto& p) { return p.first == static_cast<int>(pid); });
    if (computes && written < *count) gpus[written++] = gpu;
  }
  *count = written;
  return kSuccess;
}
}
