#pragma once

#include <memory>
#include <string>

#include "sample/gpu_reading.h"
#include "sample/vendor_library.h"

namespace eroica {

/// Use of NVIDIA's GPUs as a DCGM engine that runs on this host tells it, every 100 ms from the first reading until
/// rest(). `watch` must outlive it. `path`: of the library; empty: where the loader finds it.
std::unique_ptr<GpuLibrary> dcgm_library(CallWatch& watch, std::string path = "");

}  // namespace eroica
