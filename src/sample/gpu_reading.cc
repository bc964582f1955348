#include "sample/gpu_reading.h"

#include <array>

namespace eroica {

const GpuSignalName& gpu_signal_name(GpuSignal signal) {
  static constexpr std::array<GpuSignalName, kGpuSignals> kNames = {{
      {"gpu.sm_clock", "hz"},
      {"gpu.mem_clock", "hz"},
      {"gpu.power", "watts"},
      {"gpu.power_limit", "watts"},
      {"gpu.temperature", "celsius"},
      {"gpu.throttle_thermal", "fraction"},
      {"gpu.throttle_power", "fraction"},
      {"gpu.throttle_brake", "fraction"},
      {"gpu.throttle_sync_boost", "fraction"},
      {"gpu.clock_locked", "fraction"},
      {"gpu.sm_active", "fraction"},
      {"gpu.tensor_active", "fraction"},
      {"gpu.dram_active", "fraction"},
      {"gpu.pcie_transmit", "bytes_per_s"},
      {"gpu.pcie_receive", "bytes_per_s"},
      {"gpu.pcie_generation", "count"},
      {"gpu.pcie_width", "count"},
      {"gpu.pcie_replay", "per_s"},
      {"gpu.nvlink_transmit", "bytes_per_s"},
      {"gpu.nvlink_up", "count"},
      {"gpu.nvlink_error", "per_s"},
      {"gpu.ecc", "per_s"},
      {"gpu.xid", "per_s"},
      {"gpu.remapped_rows", "count"},
  }};
  return kNames[static_cast<size_t>(signal)];
}

}  // namespace eroica
