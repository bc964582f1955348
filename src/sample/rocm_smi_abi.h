#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eroica::rocm_smi {

// What is used of ROCm SMI's binary interface, as AMD documents it, declared here since users' machines have the
// library but no headers.

using Status = int;
inline constexpr Status kSuccess = 0;
inline constexpr Status kInitError = 8;
inline constexpr Status kNoFunction = -1;

inline constexpr uint32_t kSensorEdge = 0;
inline constexpr uint32_t kSensorJunction = 1;
inline constexpr int kCurrent = 0;
inline constexpr uint64_t kBlockMemory = 1;  ///< UMC

/// Of a memory block; later versions add members.
struct ErrorCount {
  uint64_t corrected = 0;
  uint64_t uncorrected = 0;
  std::array<uint64_t, 6> later{};
};

struct ProcessInfo {
  uint32_t pid = 0;
  uint32_t pasid = 0;
  uint64_t memory_bytes = 0;
  uint64_t sdma_us = 0;
  uint32_t occupancy = 0;
};
static_assert(sizeof(ProcessInfo) == 32);

/// The part of rsmi_gpu_metrics_t that is the same since ROCm 6.0. A member that the GPU does not tell has all its bits
/// set. The library fills in more than this, as much as it knows: hence the room at the end.
struct GpuMetrics {
  uint16_t size = 0;
  uint8_t format = 0;
  uint8_t content = 0;
  std::array<uint16_t, 6> celsius{};   ///< edge, hotspot, memory, three regulators
  std::array<uint16_t, 3> activity{};  ///< percent: compute, memory controller, video
  uint16_t average_watts = 0;
  uint64_t energy = 0;
  uint64_t clock_ns = 0;
  std::array<uint16_t, 7> average_mhz{};
  std::array<uint16_t, 7> current_mhz{};  ///< compute, SoC, memory, video
  uint32_t throttled = 0;                 ///< bits of the model
  uint16_t fan_rpm = 0;
  uint16_t pcie_width = 0;
  uint16_t pcie_speed = 0;  ///< 0.1 GT/s
  uint32_t activity_sum = 0;
  uint32_t memory_activity_sum = 0;
  std::array<uint16_t, 4> hbm_celsius{};
  uint64_t firmware_10ns = 0;
  std::array<uint16_t, 3> millivolts{};
  uint64_t throttled_by = 0;  ///< bits that all models share
  uint16_t current_watts = 0;
  std::array<uint16_t, 4> video_activity{};
  uint32_t locked_clocks = 0;
  uint16_t xgmi_width = 0;
  uint16_t xgmi_speed = 0;
  uint64_t pcie_bandwidth_sum = 0;
  uint64_t pcie_bandwidth = 0;
  uint64_t pcie_recoveries = 0;
  uint64_t pcie_replays = 0;
  uint64_t pcie_replay_rollovers = 0;
  std::array<uint64_t, 8> xgmi_read_kib{};
  std::array<uint64_t, 8> xgmi_written_kib{};
  std::array<uint16_t, 8> compute_mhz{};  ///< of each part of the chip
  std::array<uint64_t, 2048> room{};
};
static_assert(offsetof(GpuMetrics, current_mhz) == 54 && offsetof(GpuMetrics, throttled_by) == 112);

// Of throttled_by.
inline constexpr uint64_t kByPower = 0x0000'0000'00FF'00FF;  ///< power limits, and those of current
inline constexpr uint64_t kByHeat = 0x0000'3FFF'0000'0000;
inline constexpr uint64_t kByBrake = 0x0000'C000'0000'0000;  ///< PROCHOT: a signal from outside

}  // namespace eroica::rocm_smi
