#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/bundle.h"
#include "trace/trace.h"

namespace eroica {

/// A window of a live job as its bundle.json tells it.
struct LiveBundle {
  std::string job;
  int32_t world_size = -1;
  int64_t start_unix_ns = 0;
  double duration_ms = 0;
  struct Rank {
    int32_t rank = -1;
    std::string host;
    int32_t gpu = -1;
    int64_t pid = -1;
    std::string trace;   ///< a name in the bundle's folder; empty: none
    std::string stacks;  ///< the same
    std::string nccl;    ///< the same: what NCCL's profiler interface told
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> env;
    WindowEdges edges;
  };
  std::vector<Rank> ranks;               ///< ascending
  std::string machine;                   ///< that the ranks' hosts are parts of, where they have names of their own
  std::string samples;                   ///< a name in the bundle's folder; empty: none
  double sampler_cores = 0;              ///< that reading them took
  std::vector<std::string> not_sampled;  ///< what the machine does not tell
  std::vector<ProcessGroup> groups;
};

std::string bundle_json(const LiveBundle& bundle);

}  // namespace eroica
