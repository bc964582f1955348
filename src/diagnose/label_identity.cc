#include "diagnose/label_identity.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace eroica {
namespace {

/// Of each host the values of its ranks, in the order of the ranks. A rank without the label has an empty value.
std::map<uint32_t, std::vector<std::string_view>> values_by_host(const Job& job, const std::string& key) {
  std::map<uint32_t, std::vector<std::string_view>> values;
  for (const RankFacts& rank : job.ranks) {
    const auto& labels = job.label_sets[rank.labels];
    const auto found = labels.find(key);
    values[rank.host].push_back(found == labels.end() ? std::string_view() : std::string_view(found->second));
  }
  return values;
}

bool is_known_identity(std::string_view key) {
  constexpr std::string_view kPrefix = "env.";
  if (!key.starts_with(kPrefix)) return key == "gpu_uuid" || key == "gpu_serial" || key == "hostname";
  key.remove_prefix(kPrefix.size());
  constexpr std::array<std::string_view, 13> kNames{
      "RANK",       "HOSTNAME",     "HOST",         "MASTER_ADDR",   "MASTER_PORT",       "GPU_DEVICE_ORDINAL", "PWD",
      "OMP_PLACES", "SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "GOMP_CPU_AFFINITY", "ZE_AFFINITY_MASK"};
  constexpr std::array<std::string_view, 4> kEndings{"_VISIBLE_DEVICES", "_RANK", "_HOSTID", "_HOSTNAME"};
  return std::ranges::find(kNames, key) != kNames.end() ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return key.ends_with(ending); });
}

bool all_differ(const std::vector<std::string_view>& values) {
  return std::set<std::string_view>(values.begin(), values.end()).size() == values.size();
}

bool is_one(const std::vector<std::string_view>& values) {
  return std::ranges::all_of(values, [&](std::string_view value) { return value == values.front(); });
}

}  // namespace

bool is_identity(const Job& job, std::string_view key) {
  if (is_known_identity(key)) return true;
  const auto hosts = values_by_host(job, std::string(key));
  const bool names_host = std::ranges::all_of(hosts, [&](const auto& host) {
    const std::string& name = job.words[host.first];
    return !name.empty() && host.second.front() == name && is_one(host.second);
  });
  if (names_host) return true;
  if (hosts.size() > 2 && std::ranges::all_of(hosts, [](const auto& host) { return is_one(host.second); })) {
    std::vector<std::string_view> of_hosts;
    of_hosts.reserve(hosts.size());
    for (const auto& [host, values] : hosts) of_hosts.push_back(values.front());
    if (all_differ(of_hosts)) return true;
  }
  const auto& first = hosts.begin()->second;
  if (is_one(first)) return false;
  const bool same_everywhere =
      hosts.size() > 1 && std::ranges::all_of(hosts, [&](const auto& host) {
        const size_t both = std::min(host.second.size(), first.size());
        return std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(both), host.second.begin());
      });
  if (same_everywhere) return true;
  return job.ranks.size() > 2 && std::ranges::all_of(hosts, [](const auto& host) { return all_differ(host.second); });
}

}  // namespace eroica
