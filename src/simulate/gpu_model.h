#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace eroica {

enum class DeviceVendor : uint8_t { kNvidia, kAmd };

/// What a kind of GPU can do. Rates are those that training reaches, not those of the data sheet.
struct GpuModel {
  std::string_view key;
  std::string_view name;  ///< as the driver tells it
  DeviceVendor vendor = DeviceVendor::kNvidia;
  int multiprocessors = 0;
  int warp = 32;
  int compute_major = 0;
  int compute_minor = 0;
  uint64_t memory_bytes = 0;
  double matrix_flops_per_s = 0;  ///< half precision on tensor cores
  double vector_flops_per_s = 0;  ///< single precision without them
  double memory_bytes_per_s = 0;
  double sm_clock_hz = 0;
  double memory_clock_hz = 0;
  double idle_watts = 0;
  double limit_watts = 0;
  double limit_celsius = 0;
  int nvlinks = 0;                ///< NVLink or xGMI links
  double nvlink_bytes_per_s = 0;  ///< all links together, one way, as collectives reach it
  int pcie_generation = 0;
  double pcie_bytes_per_s = 0;  ///< sixteen lanes, one way, pinned memory
};

/// V100, A100, H100, B200, MI300X, in this order.
const std::array<GpuModel, 5>& gpu_models();
const GpuModel* find_gpu_model(std::string_view key);

}  // namespace eroica
