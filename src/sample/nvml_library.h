#pragma once

#include <memory>
#include <string>

#include "sample/gpu_reading.h"
#include "sample/vendor_library.h"

namespace eroica {

/// NVIDIA's GPUs by NVML. `watch` must outlive it. `path`: of the library; empty: where the loader finds it.
std::unique_ptr<GpuLibrary> nvml_library(CallWatch& watch, std::string path = "");

}  // namespace eroica
