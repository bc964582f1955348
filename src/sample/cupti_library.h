#pragma once

#include <memory>
#include <string>

#include "sample/gpu_reading.h"
#include "sample/vendor_library.h"

namespace eroica {

/// Use of NVIDIA's GPUs, sampled by the hardware ten thousand times a second (CUPTI's PM sampling), from the first
/// reading of a GPU until rest(). Each 10 ms become two points with their mean and deviation. `watch` must outlive it.
/// Paths: of the libraries of CUPTI and of the CUDA driver; empty: where the loader finds them.
std::unique_ptr<GpuLibrary> cupti_library(CallWatch& watch, std::string cupti = "", std::string driver = "");

}  // namespace eroica
