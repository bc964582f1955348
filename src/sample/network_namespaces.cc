#include "sample/network_namespaces.h"

#include <fmt/format.h>

#include <map>

namespace eroica {

std::vector<NetworkNamespace> network_namespaces(const SystemFiles& files, const SampledJob& job) {
  const std::string own = files.link("/proc/self/ns/net");
  std::map<std::string, size_t> known;
  std::vector<NetworkNamespace> all;
  for (const SampledRank& rank : job.ranks) {
    const std::string name = files.link(fmt::format("/proc/{}/ns/net", rank.pid));
    if (name.empty()) continue;
    const auto [found, is_new] = known.try_emplace(name, all.size());
    if (is_new) all.push_back({rank.host, {}, name == own});
    all[found->second].pids.push_back(rank.pid);
  }
  return all;
}

}  // namespace eroica
