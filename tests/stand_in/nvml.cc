// Stands in for libnvidia-ml.so.1. With EROICA_STAND_IN_OLD it is one of an old driver, which lacks what came later.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>

#include "sample/nvml_abi.h"
#include "stand_in/played_devices.h"

namespace {

using eroica::nvml::EventData;
using eroica::nvml::FieldValue;
using eroica::nvml::kNoDriver;
using eroica::nvml::kSuccess;
using eroica::nvml::Status;
using eroica::stand_in::enter;
using eroica::stand_in::script;
using PlayedDevice = eroica::stand_in::Device;

constexpr Status kInvalid = 2;
constexpr Status kNotSupported = 3;

const PlayedDevice& played(void* device) { return *static_cast<const PlayedDevice*>(device); }

/// The value of a key, as the function gives it.
template <typename Number>
Status give(const char* function, void* device, const std::string& key, Number* into) {
  if (const auto status = enter(function)) return *status;
  const std::optional<double> value = eroica::stand_in::value(played(device), key);
  if (!value) return kNotSupported;
  *into = static_cast<Number>(std::llround(*value));
  return kSuccess;
}

Status give_text(const char* function, const std::string& text, char* into, unsigned length) {
  if (const auto status = enter(function)) return *status;
  if (text.size() >= length) return eroica::nvml::kInsufficientSize;
  std::memcpy(into, text.c_str(), text.size() + 1);
  return kSuccess;
}

Status give_processes(const char* function, void* device, unsigned* count, eroica::nvml::ProcessInfo* into) {
  if (const auto status = enter(function)) return *status;
  const auto all = eroica::stand_in::processes(played(device));
  const bool fits = all.size() <= *count;
  for (size_t i = 0; fits && i < all.size(); ++i) into[i] = {static_cast<unsigned>(all[i].first), all[i].second, 0, 0};
  *count = static_cast<unsigned>(all.size());
  return fits ? kSuccess : eroica::nvml::kInsufficientSize;
}

#ifndef EROICA_STAND_IN_OLD
constexpr Status kTimeout = 10;

struct GpmSample {
  const PlayedDevice* device = nullptr;
};

struct Events {
  std::deque<std::pair<void*, uint64_t>> seen;  // devices, with what was told of them
};
#endif

}  // namespace

extern "C" {

Status nvmlInit_v2() {
  if (!eroica::stand_in::start()) return kNoDriver;
  return enter("nvmlInit_v2").value_or(kSuccess);
}

Status nvmlDeviceGetCount_v2(unsigned* count) {
  if (const auto status = enter("nvmlDeviceGetCount_v2")) return *status;
  *count = static_cast<unsigned>(script().devices.size());
  return kSuccess;
}

Status nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (const auto status = enter("nvmlDeviceGetHandleByIndex_v2")) return *status;
  if (index >= script().devices.size()) return kInvalid;
  *device = &script().devices[index];
  return kSuccess;
}

Status nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
  return give_text("nvmlDeviceGetUUID", played(device).uuid, text, length);
}

Status nvmlDeviceGetName(void* device, char* text, unsigned length) {
  return give_text("nvmlDeviceGetName", played(device).model, text, length);
}

Status nvmlDeviceGetPciInfo_v3(void* device, eroica::nvml::PciInfo* info) {
  return give_text("nvmlDeviceGetPciInfo_v3", played(device).bus_id, info->bus_id.data(),
                   static_cast<unsigned>(info->bus_id.size()));
}

Status nvmlDeviceGetClockInfo(void* device, int kind, unsigned* megahertz) {
  return give("nvmlDeviceGetClockInfo", device, kind == eroica::nvml::kClockSm ? "sm_mhz" : "mem_mhz", megahertz);
}

#ifdef EROICA_STAND_IN_OLD
Status nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return give("nvmlDeviceGetCurrentClocksThrottleReasons", device, "reasons", reasons);
}
#else
Status nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  return give("nvmlDeviceGetCurrentClocksEventReasons", device, "reasons", reasons);
}
#endif

Status nvmlDeviceGetViolationStatus(void* device, int policy, eroica::nvml::ViolationTime* time) {
  return give("nvmlDeviceGetViolationStatus", device, "violation." + std::to_string(policy), &time->violation_ns);
}

Status nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return give("nvmlDeviceGetPowerUsage", device, "power_mw", milliwatts);
}

Status nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return give("nvmlDeviceGetEnforcedPowerLimit", device, "limit_mw", milliwatts);
}

Status nvmlDeviceGetTemperature(void* device, int /*sensor*/, unsigned* celsius) {
  return give("nvmlDeviceGetTemperature", device, "celsius", celsius);
}

Status nvmlDeviceGetTotalEccErrors(void* device, int kind, int /*since*/, unsigned long long* count) {
  return give("nvmlDeviceGetTotalEccErrors", device, kind == eroica::nvml::kCorrected ? "ecc_corrected" : "ecc_other",
              count);
}

Status nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                                 unsigned* failed) {
  *uncorrected = *pending = *failed = 0;
  return give("nvmlDeviceGetRemappedRows", device, "remapped_rows", corrected);
}

Status nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* generation) {
  return give("nvmlDeviceGetCurrPcieLinkGeneration", device, "pcie_generation", generation);
}

Status nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* width) {
  return give("nvmlDeviceGetCurrPcieLinkWidth", device, "pcie_width", width);
}

Status nvmlDeviceGetPcieReplayCounter(void* device, unsigned* count) {
  return give("nvmlDeviceGetPcieReplayCounter", device, "pcie_replays", count);
}

Status nvmlDeviceGetPcieThroughput(void* device, int direction, unsigned* kilobytes_per_s) {
  return give("nvmlDeviceGetPcieThroughput", device,
              direction == eroica::nvml::kPcieSent ? "pcie_sent_kbs" : "pcie_received_kbs", kilobytes_per_s);
}

Status nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  return give("nvmlDeviceGetNvLinkState", device, "link." + std::to_string(link), active);
}

Status nvmlDeviceGetNvLinkErrorCounter(void* device, unsigned link, int kind, unsigned long long* count) {
  return give("nvmlDeviceGetNvLinkErrorCounter", device,
              "link_errors." + std::to_string(link) + "." + std::to_string(kind), count);
}

Status nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, eroica::nvml::ProcessInfo* into) {
  return give_processes("nvmlDeviceGetComputeRunningProcesses_v2", device, count, into);
}

#ifndef EROICA_STAND_IN_OLD

Status nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, eroica::nvml::ProcessInfo* into) {
  return give_processes("nvmlDeviceGetComputeRunningProcesses_v3", device, count, into);
}

Status nvmlDeviceGetTemperatureV(void* device, eroica::nvml::Temperature* temperature) {
  if (temperature->version != eroica::nvml::Temperature().version) return kInvalid;
  return give("nvmlDeviceGetTemperatureV", device, "celsius", &temperature->celsius);
}

Status nvmlDeviceGetFieldValues(void* device, int count, FieldValue* fields) {
  if (const auto status = enter("nvmlDeviceGetFieldValues")) return *status;
  for (int i = 0; i < count; ++i) {
    FieldValue& field = fields[i];
    std::string key = "field." + std::to_string(field.field);
    if (field.scope != 0 && field.scope != eroica::nvml::kAllLinks) key += "." + std::to_string(field.scope);
    const std::optional<double> value = eroica::stand_in::value(played(device), key);
    field.status = value ? kSuccess : kNotSupported;
    field.type = 3;
    if (value) field.value.wide = static_cast<unsigned long long>(std::llround(*value));
  }
  return kSuccess;
}

Status nvmlEventSetCreate(void** set) {
  if (const auto status = enter("nvmlEventSetCreate")) return *status;
  static auto* all = new std::deque<Events>;
  *set = &all->emplace_back();
  return kSuccess;
}

Status nvmlDeviceRegisterEvents(void* device, unsigned long long /*kinds*/, void* set) {
  if (const auto status = enter("nvmlDeviceRegisterEvents")) return *status;
  if (!eroica::stand_in::value(played(device), "xids")) return kNotSupported;
  static_cast<Events*>(set)->seen.emplace_back(device, 0);
  return kSuccess;
}

Status nvmlEventSetWait_v2(void* set, EventData* event, unsigned /*most_ms*/) {
  if (const auto status = enter("nvmlEventSetWait_v2")) return *status;
  for (auto& [device, told] : static_cast<Events*>(set)->seen) {
    if (eroica::stand_in::value(played(device), "xids").value_or(0) < static_cast<double>(told + 1)) continue;
    ++told;
    *event = {device, eroica::nvml::kEventXid, 79, 0, 0};
    return kSuccess;
  }
  return kTimeout;
}

Status nvmlGpmQueryDeviceSupport(void* device, eroica::nvml::GpmSupport* support) {
  if (const auto status = enter("nvmlGpmQueryDeviceSupport")) return *status;
  const auto& values = played(device).values;
  support->is_supported = std::ranges::any_of(values, [](const auto& v) { return v.first.starts_with("gpm."); });
  return kSuccess;
}

Status nvmlGpmSampleAlloc(void** sample) {
  if (const auto status = enter("nvmlGpmSampleAlloc")) return *status;
  static auto* all = new std::deque<GpmSample>;  // nobody frees them
  *sample = &all->emplace_back();
  return kSuccess;
}

Status nvmlGpmSampleGet(void* device, void* sample) {
  if (const auto status = enter("nvmlGpmSampleGet")) return *status;
  static_cast<GpmSample*>(sample)->device = &played(device);
  return kSuccess;
}

Status nvmlGpmMetricsGet(eroica::nvml::GpmMetrics* metrics) {
  if (const auto status = enter("nvmlGpmMetricsGet")) return *status;
  if (metrics->version != 1 || metrics->first == metrics->second) return kInvalid;
  for (unsigned i = 0; i < metrics->count; ++i) {
    eroica::nvml::GpmMetric& metric = metrics->metrics[i];
    const auto value = eroica::stand_in::value(*static_cast<GpmSample*>(metrics->second)->device,
                                               "gpm." + std::to_string(metric.metric));
    metric.status = value ? kSuccess : kNotSupported;
    metric.value = value.value_or(0);
  }
  return kSuccess;
}

#endif
}
