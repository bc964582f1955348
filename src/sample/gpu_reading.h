#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sample/sampled_job.h"

namespace eroica {

/// What rules ask of a GPU (docs/signals.md). Nothing else is collected.
enum class GpuSignal : uint8_t {
  kSmClock,
  kMemClock,
  kPower,
  kPowerLimit,
  kTemperature,
  kThrottleThermal,
  kThrottlePower,
  kThrottleBrake,
  kThrottleSyncBoost,
  kClockLocked,
  kSmActive,
  kTensorActive,
  kDramActive,
  kPcieTransmit,
  kPcieReceive,
  kPcieGeneration,
  kPcieWidth,
  kPcieReplay,
  kNvlinkTransmit,
  kNvlinkUp,
  kNvlinkError,
  kEcc,
  kXid,
  kRemappedRows,
};
inline constexpr size_t kGpuSignals = 24;

struct GpuSignalName {
  std::string_view metric;
  std::string_view unit;
};
const GpuSignalName& gpu_signal_name(GpuSignal signal);

/// One value: a level, or a counter of which `scale` times the growth a second is the signal.
struct GpuValue {
  GpuSignal signal{};
  bool counts = false;
  double level = 0;
  uint64_t counter = 0;
  double scale = 1;
};

/// A process that computes on a GPU, as the driver numbers it: in the host's pid namespace.
struct GpuProcess {
  pid_t pid = -1;
  std::optional<uint64_t> used_bytes = {};  ///< of the GPU's memory; absent: not told
};

/// A value of some time before it was read.
struct GpuPoint {
  GpuSignal signal{};
  int64_t at_ns = 0;  ///< of the monotonic clock
  double value = 0;
};

/// What one GPU told at one time.
struct GpuReading {
  size_t gpu = 0;     ///< its place among the vendor's
  int64_t at_ns = 0;  ///< of the monotonic clock
  std::vector<GpuValue> values;
  std::vector<GpuPoint> points;                      ///< ascending
  std::string problem;                               ///< why it tells nothing, where it could; empty: none
  std::optional<std::vector<GpuProcess>> processes;  ///< where that was asked and told

  void level(GpuSignal signal, double value) { values.push_back({.signal = signal, .level = value}); }
  void counter(GpuSignal signal, uint64_t count, double scale) {
    values.push_back({.signal = signal, .counts = true, .counter = count, .scale = scale});
  }
};

/// Which of a machine's GPUs one is.
struct GpuIdentity {
  int32_t index = -1;  ///< as the vendor's tools count
  std::string uuid;
  std::string bus_id;  ///< "00000000:17:00.0"
  std::string model;
};

/// How often what is read changes: each value has its pace.
enum class GpuPace : uint8_t {
  kFast,    ///< clocks, power, what holds the clock down, bytes moved
  kMedium,  ///< shares of use, which the hardware averages over such a time
  kSlow,    ///< temperature, limits, links, errors, processes
};

/// The GPUs of one vendor on this machine. All calls may block for ever; they are made on a VendorThread.
class GpuLibrary {
 public:
  GpuLibrary() = default;
  GpuLibrary(const GpuLibrary&) = delete;
  GpuLibrary& operator=(const GpuLibrary&) = delete;
  virtual ~GpuLibrary() = default;

  /// What its GPUs are called in `missing`: "NVIDIA GPUs".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual GpuVendor vendor() const { return GpuVendor::kNvidia; }
  /// Finds the GPUs. Says in `problem` why there are none where there could be some; empty: this machine has none.
  virtual std::vector<GpuIdentity> start(std::string& problem) = 0;
  /// Appends what a GPU tells at this pace. What it does not tell is left out.
  virtual void read(GpuPace pace, GpuReading& into) = 0;
  /// Nothing is read for a while.
  virtual void rest() {}
};

}  // namespace eroica
