#pragma once

#include <string>
#include <vector>

#include "sample/sampled_job.h"
#include "sample/system_files.h"

namespace eroica {

/// Ranks that see the same interfaces.
struct NetworkNamespace {
  std::string host;  ///< as the first of its ranks calls it
  std::vector<pid_t> pids;
  bool own = false;  ///< this process is in it too
};
std::vector<NetworkNamespace> network_namespaces(const SystemFiles& files, const SampledJob& job);

}  // namespace eroica
