#include "sample/gpu_assignment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "sample/fields.h"

namespace eroica {
namespace {

/// Where a rank has memory. Many have a little on the first GPU as well: the one with most counts.
std::optional<size_t> by_process(const std::vector<OccupiedGpu>& gpus, pid_t pid) {
  std::optional<size_t> best;
  uint64_t most_bytes = 0;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].processes) continue;
    for (const GpuProcess& process : *gpus[i].processes) {
      if (process.pid != pid || (best && process.used_bytes <= most_bytes)) continue;
      best = i;
      most_bytes = process.used_bytes;
    }
  }
  return best;
}

std::vector<std::string_view> tokens_of(std::string_view list) {
  std::vector<std::string_view> tokens;
  while (!list.empty()) {
    const size_t end = list.find(',');
    std::string_view token = list.substr(0, end);
    tokens.push_back(take_field(token));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
  return tokens;
}

/// "3", "GPU-8932f937-d72c", which may be cut short.
std::optional<size_t> by_token(const std::vector<OccupiedGpu>& gpus, std::string_view token) {
  const std::optional<int32_t> index = whole_number<int32_t>(token);
  std::optional<size_t> found;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const GpuIdentity& identity = gpus[i].identity;
    const bool fits = index ? identity.index == *index : !token.empty() && identity.uuid.starts_with(token);
    if (fits && found) return std::nullopt;  // one of several
    if (fits) found = i;
  }
  return found;
}

std::optional<size_t> by_description(const std::vector<OccupiedGpu>& gpus, const SampledRank& rank) {
  if (!rank.on_gpu || rank.local_rank < 0) return std::nullopt;
  const auto place = static_cast<size_t>(rank.local_rank);
  constexpr std::array<std::string_view, 3> kLists = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                                      "ROCR_VISIBLE_DEVICES"};
  for (const std::string_view name : kLists) {
    const auto found = rank.visible_devices.find(std::string(name));
    if (found == rank.visible_devices.end()) continue;
    const std::vector<std::string_view> tokens = tokens_of(found->second);
    // A launcher may show each rank its own GPU alone.
    if (tokens.size() == 1) return by_token(gpus, tokens.front());
    return place < tokens.size() ? by_token(gpus, tokens[place]) : std::nullopt;
  }
  return by_token(gpus, std::to_string(place));
}

}  // namespace

std::map<int32_t, size_t> assign_gpus(const std::vector<OccupiedGpu>& gpus, const SampledJob& job, bool same_pids) {
  std::map<int32_t, size_t> assigned;
  for (const SampledRank& rank : job.ranks) {
    if (const auto gpu = same_pids ? by_process(gpus, rank.pid) : std::nullopt) assigned.emplace(rank.rank, *gpu);
  }
  if (!assigned.empty()) return assigned;
  for (const SampledRank& rank : job.ranks) {
    if (const auto gpu = by_description(gpus, rank)) assigned.emplace(rank.rank, *gpu);
  }
  return assigned;
}

std::string bus_key(std::string_view bus_id) {
  bus_id.remove_prefix(std::min(bus_id.find_first_not_of('0'), bus_id.size()));
  std::string key(bus_id);
  std::ranges::transform(key, key.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return key;
}

bool in_host_pid_namespace(const SystemFiles& files) {
  return files.link("/proc/self/ns/pid") == "pid:[4026531836]";  // PROC_PID_INIT_INO
}

}  // namespace eroica
