#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "sample/gpu_feed.h"
#include "sample/system_files.h"

namespace eroica {

/// Whether a machine tells a signal to this user.
struct SignalState {
  enum class Kind : uint8_t {
    kSupplied,
    kNothingThere,  ///< it is of hardware that this machine has not
    kNotTold,
  };
  Kind kind = Kind::kSupplied;
  std::string why;  ///< not; empty: it is supplied
};
/// By metric. Metrics that are absent nothing reads.
using SignalSupply = std::map<std::string, SignalState, std::less<>>;

/// What windows of a job of this user would hold here. `gpus` are started and read once; those of a vendor
/// that take longer than `most_ns` count as ones that tell nothing.
SignalSupply signal_supply(const SystemFiles& files, const GpuFeeds& gpus, int64_t most_ns);

}  // namespace eroica
