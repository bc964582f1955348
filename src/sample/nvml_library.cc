#include "sample/nvml_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "sample/nvml_abi.h"

namespace eroica {
namespace {

using nvml::Device;
using nvml::FieldValue;
using nvml::kNoFunction;
using nvml::kSuccess;
using nvml::Status;

constexpr unsigned kMostGpus = 64;
constexpr unsigned kMostProcesses = 1024;
constexpr int kMostEvents = 64;  // taken at once
constexpr double kPerNs = 1e-9;
constexpr double kMega = 1e6;
constexpr double kMebi = 1024.0 * 1024.0;

/// The library's functions, by their names in it.
struct Functions {
  template <typename Signature>
  using Function = VendorFunction<Signature>;

  Functions(const VendorLibrary& from, CallWatch& watch)
      : init(from, watch, {"nvmlInit_v2", "nvmlInit"}),
        count(from, watch, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}),
        by_index(from, watch, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}),
        uuid(from, watch, {"nvmlDeviceGetUUID"}),
        model(from, watch, {"nvmlDeviceGetName"}),
        pci(from, watch, {"nvmlDeviceGetPciInfo_v3"}),
        clock(from, watch, {"nvmlDeviceGetClockInfo"}),
        reasons(from, watch, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}),
        violation(from, watch, {"nvmlDeviceGetViolationStatus"}),
        power(from, watch, {"nvmlDeviceGetPowerUsage"}),
        power_limit(from, watch, {"nvmlDeviceGetEnforcedPowerLimit"}),
        temperature(from, watch, {"nvmlDeviceGetTemperature"}),
        temperature_v(from, watch, {"nvmlDeviceGetTemperatureV"}),
        ecc(from, watch, {"nvmlDeviceGetTotalEccErrors"}),
        remapped(from, watch, {"nvmlDeviceGetRemappedRows"}),
        pcie_generation(from, watch, {"nvmlDeviceGetCurrPcieLinkGeneration"}),
        pcie_width(from, watch, {"nvmlDeviceGetCurrPcieLinkWidth"}),
        pcie_replay(from, watch, {"nvmlDeviceGetPcieReplayCounter"}),
        pcie_throughput(from, watch, {"nvmlDeviceGetPcieThroughput"}),
        link_state(from, watch, {"nvmlDeviceGetNvLinkState"}),
        link_errors(from, watch, {"nvmlDeviceGetNvLinkErrorCounter"}),
        fields(from, watch, {"nvmlDeviceGetFieldValues"}),
        processes(from, watch, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}),
        event_set(from, watch, {"nvmlEventSetCreate"}),
        register_events(from, watch, {"nvmlDeviceRegisterEvents"}),
        wait_event(from, watch, {"nvmlEventSetWait_v2"}),
        gpm_support(from, watch, {"nvmlGpmQueryDeviceSupport"}),
        gpm_allocate(from, watch, {"nvmlGpmSampleAlloc"}),
        gpm_sample(from, watch, {"nvmlGpmSampleGet"}),
        gpm_metrics(from, watch, {"nvmlGpmMetricsGet"}) {}

  Function<Status()> init;
  Function<Status(unsigned*)> count;
  Function<Status(unsigned, Device*)> by_index;
  Function<Status(Device, char*, unsigned)> uuid;
  Function<Status(Device, char*, unsigned)> model;
  Function<Status(Device, nvml::PciInfo*)> pci;
  Function<Status(Device, int, unsigned*)> clock;
  Function<Status(Device, unsigned long long*)> reasons;
  Function<Status(Device, int, nvml::ViolationTime*)> violation;
  Function<Status(Device, unsigned*)> power;
  Function<Status(Device, unsigned*)> power_limit;
  Function<Status(Device, int, unsigned*)> temperature;
  Function<Status(Device, nvml::Temperature*)> temperature_v;
  Function<Status(Device, int, int, unsigned long long*)> ecc;
  Function<Status(Device, unsigned*, unsigned*, unsigned*, unsigned*)> remapped;
  Function<Status(Device, unsigned*)> pcie_generation;
  Function<Status(Device, unsigned*)> pcie_width;
  Function<Status(Device, unsigned*)> pcie_replay;
  Function<Status(Device, int, unsigned*)> pcie_throughput;
  Function<Status(Device, unsigned, int*)> link_state;
  Function<Status(Device, unsigned, int, unsigned long long*)> link_errors;
  Function<Status(Device, int, FieldValue*)> fields;
  Function<Status(Device, unsigned*, nvml::ProcessInfo*)> processes;
  Function<Status(nvml::EventSet*)> event_set;
  Function<Status(Device, unsigned long long, nvml::EventSet)> register_events;
  Function<Status(nvml::EventSet, nvml::EventData*, unsigned)> wait_event;
  Function<Status(Device, nvml::GpmSupport*)> gpm_support;
  Function<Status(nvml::Sample*)> gpm_allocate;
  Function<Status(Device, nvml::Sample)> gpm_sample;
  Function<Status(nvml::GpmMetrics*)> gpm_metrics;
};

/// What a field says; absent: nothing that counts.
std::optional<uint64_t> whole(const FieldValue& field) {
  if (field.status != kSuccess) return std::nullopt;
  switch (field.type) {
    case 0:
      return field.value.real >= 0 && field.value.real < 9e18 ? std::optional(static_cast<uint64_t>(field.value.real))
                                                              : std::nullopt;
    case 1:
      return field.value.natural;
    case 2:
    case 3:
      return field.value.wide;
    case 4:
      return field.value.wide_integer < 0 ? std::nullopt : std::optional<uint64_t>(field.value.wide_integer);
    case 5:
      return field.value.integer < 0 ? std::nullopt : std::optional<uint64_t>(field.value.integer);
    case 6:
      return field.value.small;
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> value_of(const std::vector<FieldValue>& fields, unsigned field) {
  const auto found = std::ranges::find(fields, field, &FieldValue::field);
  return found == fields.end() ? std::nullopt : whole(*found);
}

/// Their sum; absent: one of them was not told this time, so that the sum would seem to fall and rise again.
std::optional<uint64_t> sum_of(std::span<const FieldValue> fields) {
  uint64_t sum = 0;
  for (const FieldValue& field : fields) {
    const std::optional<uint64_t> value = whole(field);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

/// What holds a clock down: how long so far, where that is counted, else whether it does now.
struct Throttle {
  GpuSignal signal;
  std::array<unsigned, 2> fields;  ///< counters to be added; 0: none
  int policy;                      ///< −1: none
  uint64_t reasons;
};
constexpr std::array<Throttle, 4> kThrottles = {{
    {GpuSignal::kThrottleThermal,
     {nvml::kFieldSoftThermalNs, nvml::kFieldHardThermalNs},
     nvml::kPolicyThermal,
     nvml::kReasonSoftThermal | nvml::kReasonHardThermal},
    {GpuSignal::kThrottlePower, {nvml::kFieldPowerCapNs, 0}, nvml::kPolicyPower, nvml::kReasonPowerCap},
    {GpuSignal::kThrottleBrake, {nvml::kFieldPowerBrakeNs, 0}, -1, nvml::kReasonPowerBrake},
    {GpuSignal::kThrottleSyncBoost, {nvml::kFieldSyncBoostNs, 0}, nvml::kPolicySyncBoost, nvml::kReasonSyncBoost},
}};

struct Gpu {
  Device device = nullptr;
  std::vector<FieldValue> fast;         // fields that it has
  std::vector<FieldValue> link_errors;  // likewise, of single links
  std::array<bool, kThrottles.size()> has_violation{};
  unsigned links = 0;
  bool slow_pcie = false;  // nothing quicker tells its traffic
  bool has_gpm = false;
  bool gpm_pcie = false;
  bool gpm_nvlink = false;
  nvml::Sample gpm_before = nullptr;
  nvml::Sample gpm_now = nullptr;
  uint64_t xids = 0;
};

class Nvml : public GpuLibrary {
 public:
  Nvml(CallWatch& watch, std::string path) : watch_(watch), path_(std::move(path)) {}

  [[nodiscard]] std::string_view name() const override { return "NVIDIA GPUs"; }

  std::vector<GpuIdentity> start(std::string& problem) override {
    watch_.begin("dlopen");
    const VendorLibrary library = path_.empty() ? VendorLibrary({"libnvidia-ml.so.1"}) : VendorLibrary(path_);
    watch_.end();
    if (!library.loaded()) return {};
    functions_.emplace(library, watch_);
    if (const Status status = functions_->init.call(kNoFunction); status != kSuccess) {
      // A container's image may bring the library to a machine without such a GPU.
      if (status != nvml::kNoDriver) problem = fmt::format("nvmlInit gives {}", status);
      return {};
    }
    unsigned count = 0;
    if (const Status status = functions_->count.call(kNoFunction, &count); status != kSuccess) {
      problem = fmt::format("nvmlDeviceGetCount gives {}", status);
    }
    std::vector<GpuIdentity> found;
    for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
      Gpu gpu;
      // One that has fallen off the bus has no handle; the others go on.
      if (functions_->by_index.call(kNoFunction, i, &gpu.device) != kSuccess) continue;
      found.push_back(identity(gpu.device, i));
      look_at(gpu);
      gpus_.push_back(std::move(gpu));
    }
    listen_for_xids();
    return found;
  }

  void read(GpuPace pace, GpuReading& into) override {
    Gpu& gpu = gpus_.at(into.gpu);
    switch (pace) {
      case GpuPace::kFast:
        return read_fast(gpu, into);
      case GpuPace::kMedium:
        return read_medium(gpu, into);
      case GpuPace::kSlow:
        return read_slow(gpu, into);
    }
  }

 private:
  [[nodiscard]] GpuIdentity identity(Device device, unsigned index) const {
    std::array<char, 96> text{};
    constexpr unsigned kRoom = text.size() - 1;  // the last one stays 0
    GpuIdentity found{.index = static_cast<int32_t>(index)};
    if (functions_->uuid.call(kNoFunction, device, text.data(), kRoom) == kSuccess) found.uuid = text.data();
    text.fill(0);
    if (functions_->model.call(kNoFunction, device, text.data(), kRoom) == kSuccess) found.model = text.data();
    nvml::PciInfo pci;
    if (functions_->pci.call(kNoFunction, device, &pci) == kSuccess) {
      pci.bus_id.back() = 0;
      found.bus_id = pci.bus_id.data();
    }
    return found;
  }

  /// Those of the fields that this GPU has.
  [[nodiscard]] std::vector<FieldValue> present(Device device, std::vector<FieldValue> fields) const {
    if (fields.empty() ||
        functions_->fields.call(kNoFunction, device, static_cast<int>(fields.size()), fields.data()) != kSuccess) {
      return {};
    }
    std::erase_if(fields, [](const FieldValue& field) { return !whole(field); });
    return fields;
  }

  void look_at(Gpu& gpu) const {
    constexpr std::array kFast = {nvml::kFieldPowerInstantMw,    nvml::kFieldPowerCapNs,    nvml::kFieldSyncBoostNs,
                                  nvml::kFieldSoftThermalNs,     nvml::kFieldHardThermalNs, nvml::kFieldPowerBrakeNs,
                                  nvml::kFieldPcieReceivedBytes, nvml::kFieldPcieSentBytes, nvml::kFieldNvlinkSentKib};
    std::vector<FieldValue> fast;
    fast.reserve(kFast.size());
    for (const unsigned field : kFast) {
      fast.push_back({.field = field, .scope = field == nvml::kFieldNvlinkSentKib ? nvml::kAllLinks : 0});
    }
    gpu.fast = present(gpu.device, std::move(fast));
    for (size_t i = 0; i < kThrottles.size(); ++i) {
      nvml::ViolationTime time;
      gpu.has_violation[i] =
          kThrottles[i].policy >= 0 &&
          functions_->violation.call(kNoFunction, gpu.device, kThrottles[i].policy, &time) == kSuccess;
    }
    std::vector<FieldValue> errors;
    int active = 0;
    while (gpu.links < nvml::kMostLinks &&
           functions_->link_state.call(kNoFunction, gpu.device, gpu.links, &active) == kSuccess) {
      for (const unsigned field : {nvml::kFieldLinkReplays, nvml::kFieldLinkRecoveries, nvml::kFieldLinkChecksums}) {
        errors.push_back({.field = field, .scope = gpu.links});
      }
      ++gpu.links;
    }
    gpu.link_errors = present(gpu.device, std::move(errors));
    nvml::GpmSupport support;
    if (functions_->gpm_support.call(kNoFunction, gpu.device, &support) == kSuccess && support.is_supported != 0 &&
        functions_->gpm_allocate.call(kNoFunction, &gpu.gpm_before) == kSuccess &&
        functions_->gpm_allocate.call(kNoFunction, &gpu.gpm_now) == kSuccess) {
      gpu.has_gpm = functions_->gpm_sample.call(kNoFunction, gpu.device, gpu.gpm_before) == kSuccess;
    }
    const bool has_pcie = value_of(gpu.fast, nvml::kFieldPcieSentBytes).has_value();
    gpu.gpm_pcie = gpu.has_gpm && !has_pcie;
    gpu.slow_pcie = !gpu.has_gpm && !has_pcie;
    gpu.gpm_nvlink = gpu.has_gpm && !value_of(gpu.fast, nvml::kFieldNvlinkSentKib);
  }

  void listen_for_xids() {
    if (functions_->event_set.call(kNoFunction, &events_) != kSuccess) events_ = nullptr;
    if (events_ == nullptr) return;
    bool any = false;
    for (const Gpu& gpu : gpus_) {
      any = functions_->register_events.call(kNoFunction, gpu.device, nvml::kEventXid, events_) == kSuccess || any;
    }
    if (!any) events_ = nullptr;
  }

  void read_fast(Gpu& gpu, GpuReading& into) const {
    unsigned megahertz = 0;
    if (functions_->clock.call(kNoFunction, gpu.device, nvml::kClockSm, &megahertz) == kSuccess) {
      into.level(GpuSignal::kSmClock, megahertz * kMega);
    }
    if (!gpu.fast.empty() && functions_->fields.call(kNoFunction, gpu.device, static_cast<int>(gpu.fast.size()),
                                                     gpu.fast.data()) != kSuccess) {
      for (FieldValue& field : gpu.fast) field.status = kNoFunction;
    }
    unsigned milliwatts = 0;
    if (const auto now = value_of(gpu.fast, nvml::kFieldPowerInstantMw)) {
      into.level(GpuSignal::kPower, static_cast<double>(*now) * 1e-3);
    } else if (functions_->power.call(kNoFunction, gpu.device, &milliwatts) == kSuccess) {
      into.level(GpuSignal::kPower, milliwatts * 1e-3);
    }
    read_throttles(gpu, into);
    if (const auto sent = value_of(gpu.fast, nvml::kFieldPcieSentBytes)) {
      into.counter(GpuSignal::kPcieTransmit, *sent, 1);
    }
    if (const auto received = value_of(gpu.fast, nvml::kFieldPcieReceivedBytes)) {
      into.counter(GpuSignal::kPcieReceive, *received, 1);
    }
    if (const auto sent = value_of(gpu.fast, nvml::kFieldNvlinkSentKib)) {
      into.counter(GpuSignal::kNvlinkTransmit, *sent, 1024);
    }
  }

  void read_throttles(const Gpu& gpu, GpuReading& into) const {
    unsigned long long reasons = 0;
    const bool has_reasons = functions_->reasons.call(kNoFunction, gpu.device, &reasons) == kSuccess;
    for (size_t i = 0; i < kThrottles.size(); ++i) {
      const Throttle& throttle = kThrottles[i];
      std::vector<FieldValue> counters;
      std::ranges::copy_if(gpu.fast, std::back_inserter(counters), [&](const FieldValue& field) {
        return std::ranges::find(throttle.fields, field.field) != throttle.fields.end();
      });
      nvml::ViolationTime time;
      if (!counters.empty()) {
        if (const auto sum = sum_of(counters)) into.counter(throttle.signal, *sum, kPerNs);
      } else if (gpu.has_violation[i]) {
        if (functions_->violation.call(kNoFunction, gpu.device, throttle.policy, &time) == kSuccess) {
          into.counter(throttle.signal, time.violation_ns, kPerNs);
        }
      } else if (has_reasons) {
        into.level(throttle.signal, (reasons & throttle.reasons) != 0 ? 1 : 0);
      }
    }
    if (has_reasons) into.level(GpuSignal::kClockLocked, (reasons & nvml::kReasonSetting) != 0 ? 1 : 0);
  }

  void read_medium(Gpu& gpu, GpuReading& into) {
    if (!gpu.has_gpm) return;
    if (functions_->gpm_sample.call(kNoFunction, gpu.device, gpu.gpm_now) != kSuccess) return;
    struct Wanted {
      unsigned metric;
      GpuSignal signal;
      double scale;
    };
    constexpr std::array<Wanted, 6> kWanted = {{
        {nvml::kGpmSmUse, GpuSignal::kSmActive, 0.01},
        {nvml::kGpmTensorUse, GpuSignal::kTensorActive, 0.01},
        {nvml::kGpmDramUse, GpuSignal::kDramActive, 0.01},
        {nvml::kGpmPcieSentMib, GpuSignal::kPcieTransmit, kMebi},
        {nvml::kGpmPcieReceivedMib, GpuSignal::kPcieReceive, kMebi},
        {nvml::kGpmNvlinkSentMib, GpuSignal::kNvlinkTransmit, kMebi},
    }};
    gpm_ = {};
    gpm_.first = gpu.gpm_before;
    gpm_.second = gpu.gpm_now;
    gpm_.count = kWanted.size();
    for (size_t i = 0; i < kWanted.size(); ++i) gpm_.metrics[i].metric = kWanted[i].metric;
    const bool told = functions_->gpm_metrics.call(kNoFunction, &gpm_) == kSuccess;
    std::swap(gpu.gpm_before, gpu.gpm_now);
    for (size_t i = 0; told && i < kWanted.size(); ++i) {
      const bool is_pcie = kWanted[i].metric == nvml::kGpmPcieSentMib || kWanted[i].metric == nvml::kGpmPcieReceivedMib;
      if (gpm_.metrics[i].status != kSuccess || (is_pcie && !gpu.gpm_pcie) ||
          (kWanted[i].metric == nvml::kGpmNvlinkSentMib && !gpu.gpm_nvlink)) {
        continue;
      }
      into.level(kWanted[i].signal, gpm_.metrics[i].value * kWanted[i].scale);
    }
  }

  void read_slow(Gpu& gpu, GpuReading& into) {
    unsigned value = 0;
    if (functions_->clock.call(kNoFunction, gpu.device, nvml::kClockMemory, &value) == kSuccess) {
      into.level(GpuSignal::kMemClock, value * kMega);
    }
    if (functions_->power_limit.call(kNoFunction, gpu.device, &value) == kSuccess) {
      into.level(GpuSignal::kPowerLimit, value * 1e-3);
    }
    nvml::Temperature temperature;
    if (functions_->temperature_v.call(kNoFunction, gpu.device, &temperature) == kSuccess) {
      into.level(GpuSignal::kTemperature, temperature.celsius);
    } else if (functions_->temperature.call(kNoFunction, gpu.device, nvml::kSensorGpu, &value) == kSuccess) {
      into.level(GpuSignal::kTemperature, value);
    }
    read_memory_errors(gpu, into);
    read_pcie(gpu, into);
    read_links(gpu, into);
    read_xids(gpu, into);
    read_processes(gpu, into);
  }

  void read_memory_errors(const Gpu& gpu, GpuReading& into) const {
    unsigned long long corrected = 0;
    unsigned long long uncorrected = 0;
    if (functions_->ecc.call(kNoFunction, gpu.device, nvml::kCorrected, nvml::kSinceDriverLoad, &corrected) ==
            kSuccess &&
        functions_->ecc.call(kNoFunction, gpu.device, nvml::kUncorrected, nvml::kSinceDriverLoad, &uncorrected) ==
            kSuccess) {
      into.counter(GpuSignal::kEcc, corrected + uncorrected, 1);
    }
    unsigned for_corrected = 0;
    unsigned for_uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (functions_->remapped.call(kNoFunction, gpu.device, &for_corrected, &for_uncorrected, &pending, &failed) ==
        kSuccess) {
      into.level(GpuSignal::kRemappedRows, static_cast<double>(for_corrected) + for_uncorrected);
    }
  }

  void read_pcie(const Gpu& gpu, GpuReading& into) const {
    unsigned value = 0;
    if (functions_->pcie_generation.call(kNoFunction, gpu.device, &value) == kSuccess) {
      into.level(GpuSignal::kPcieGeneration, value);
    }
    if (functions_->pcie_width.call(kNoFunction, gpu.device, &value) == kSuccess) {
      into.level(GpuSignal::kPcieWidth, value);
    }
    if (functions_->pcie_replay.call(kNoFunction, gpu.device, &value) == kSuccess) {
      into.counter(GpuSignal::kPcieReplay, value, 1);
    }
    if (!gpu.slow_pcie) return;
    // KB/s over the 20 ms that each of these calls takes.
    if (functions_->pcie_throughput.call(kNoFunction, gpu.device, nvml::kPcieSent, &value) == kSuccess) {
      into.level(GpuSignal::kPcieTransmit, value * 1e3);
    }
    if (functions_->pcie_throughput.call(kNoFunction, gpu.device, nvml::kPcieReceived, &value) == kSuccess) {
      into.level(GpuSignal::kPcieReceive, value * 1e3);
    }
  }

  void read_links(Gpu& gpu, GpuReading& into) const {
    if (gpu.links == 0) return;
    int up = 0;
    for (unsigned link = 0; link < gpu.links; ++link) {
      int active = 0;
      if (functions_->link_state.call(kNoFunction, gpu.device, link, &active) == kSuccess && active != 0) ++up;
    }
    into.level(GpuSignal::kNvlinkUp, up);
    if (const auto errors = link_errors(gpu)) into.counter(GpuSignal::kNvlinkError, *errors, 1);
  }

  [[nodiscard]] std::optional<uint64_t> link_errors(Gpu& gpu) const {
    if (!gpu.link_errors.empty()) {
      const auto count = static_cast<int>(gpu.link_errors.size());
      const bool told = functions_->fields.call(kNoFunction, gpu.device, count, gpu.link_errors.data()) == kSuccess;
      return told ? sum_of(gpu.link_errors) : std::nullopt;
    }
    uint64_t errors = 0;
    for (unsigned link = 0; link < gpu.links; ++link) {
      for (int kind = 0; kind < nvml::kLinkErrorKinds; ++kind) {
        unsigned long long count = 0;
        if (functions_->link_errors.call(kNoFunction, gpu.device, link, kind, &count) != kSuccess) return std::nullopt;
        errors += count;
      }
    }
    return errors;
  }

  void read_xids(const Gpu& gpu, GpuReading& into) {
    if (events_ == nullptr) return;
    for (int i = 0; i < kMostEvents; ++i) {
      nvml::EventData event;
      if (functions_->wait_event.call(kNoFunction, events_, &event, 0) != kSuccess) break;
      for (Gpu& one : gpus_) one.xids += one.device == event.device && (event.type & nvml::kEventXid) != 0 ? 1 : 0;
    }
    into.counter(GpuSignal::kXid, gpu.xids, 1);
  }

  void read_processes(const Gpu& gpu, GpuReading& into) const {
    std::vector<nvml::ProcessInfo> found(64);
    auto count = static_cast<unsigned>(found.size());
    Status status = functions_->processes.call(kNoFunction, gpu.device, &count, found.data());
    if (status == nvml::kInsufficientSize) {
      count = std::min(count + 16, kMostProcesses);  // more may come in between
      found.resize(count);
      status = functions_->processes.call(kNoFunction, gpu.device, &count, found.data());
    }
    if (status != kSuccess) return;
    into.processes.emplace();
    for (size_t i = 0; i < std::min<size_t>(count, found.size()); ++i) {
      const bool is_told = found[i].used_bytes != nvml::kNotTold;
      into.processes->push_back(
          {static_cast<pid_t>(found[i].pid), is_told ? std::optional<uint64_t>(found[i].used_bytes) : std::nullopt});
    }
  }

  CallWatch& watch_;
  std::string path_;
  std::optional<Functions> functions_;
  std::vector<Gpu> gpus_;
  nvml::EventSet events_ = nullptr;
  nvml::GpmMetrics gpm_;
};

}  // namespace

std::unique_ptr<GpuLibrary> nvml_library(CallWatch& watch, std::string path) {
  return std::make_unique<Nvml>(watch, std::move(path));
}

}  // namespace eroica
