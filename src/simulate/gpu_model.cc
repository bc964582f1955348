#include "simulate/gpu_model.h"

#include <algorithm>

namespace eroica {

const std::array<GpuModel, 5>& gpu_models() {
  static constexpr std::array<GpuModel, 5> kModels{{
      {"v100", "Tesla V100-SXM2-32GB", GpuVendor::kNvidia, 80, 32, 7, 0, 34089730048, 72e12, 12e12, 0.74e12, 1.53e9,
       0.877e9, 46, 300, 83, 6, 118e9, 3, 11.8e9},
      {"a100", "NVIDIA A100-SXM4-80GB", GpuVendor::kNvidia, 108, 32, 8, 0, 84987740160, 196e12, 17e12, 1.58e12, 1.41e9,
       1.593e9, 62, 400, 85, 12, 228e9, 4, 23.6e9},
      {"h100", "NVIDIA H100 80GB HBM3", GpuVendor::kNvidia, 132, 32, 9, 0, 85017755648, 545e12, 51e12, 2.65e12, 1.98e9,
       2.619e9, 72, 700, 87, 18, 352e9, 5, 49e9},
      {"b200", "NVIDIA B200", GpuVendor::kNvidia, 148, 32, 10, 0, 191514279936, 1120e12, 60e12, 6.2e12, 1.965e9,
       3.996e9, 140, 1000, 89, 18, 690e9, 5, 51e9},
      {"mi300x", "AMD Instinct MI300X", GpuVendor::kAmd, 304, 64, 9, 4, 206141652992, 520e12, 81e12, 3.9e12, 2.1e9,
       1.3e9, 128, 750, 97, 7, 296e9, 5, 46e9},
  }};
  return kModels;
}

const GpuModel* find_gpu_model(std::string_view key) {
  const auto& models = gpu_models();
  const auto found = std::ranges::find(models, key, &GpuModel::key);
  return found == models.end() ? nullptr : &*found;
}

}  // namespace eroica
