#pragma once

#include <memory>
#include <string>

#include "sample/gpu_reading.h"
#include "sample/vendor_library.h"

namespace eroica {

/// AMD's GPUs by ROCm SMI. `watch` must outlive it. `path`: of the library; empty: where the loader finds it.
std::unique_ptr<GpuLibrary> rocm_library(CallWatch& watch, std::string path = "");

}  // namespace eroica
