#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eroica {

/// Whose GPUs something computes on.
enum class GpuVendor : uint8_t { kNone, kNvidia, kAmd };

/// A job's part on this machine.
struct SampledRank {
  int32_t rank = -1;
  pid_t pid = -1;
  std::string host;  ///< as the rank calls it: containers and namespaces have names of their own
  int32_t local_rank = -1;
  GpuVendor gpus = GpuVendor::kNone;                        ///< that its framework can compute on
  std::map<std::string, std::string> visible_devices = {};  ///< CUDA_VISIBLE_DEVICES and its like, as far as set
};
struct SampledJob {
  std::string machine;  ///< as this machine calls itself
  std::vector<SampledRank> ranks;
  pid_t self = -1;  ///< the process that samples; it and what it started are no strangers
};

}  // namespace eroica
