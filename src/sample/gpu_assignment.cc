#include "sample/gpu_assignment.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "sample/fields.h"

namespace eroica {
namespace {

/// The GPUs where a process has most memory. Many have a little on the first GPU as well: the one with most counts.
/// Several: they cannot be told apart.
std::vector<size_t> by_process(const std::vector<OccupiedGpu>& gpus, pid_t pid) {
  std::map<size_t, uint64_t> here;  // bytes
  bool all_told = true;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].processes) continue;
    for (const GpuProcess& process : *gpus[i].processes) {
      if (process.pid != pid) continue;
      here[i] += process.used_bytes.value_or(0);
      all_told = all_told && process.used_bytes.has_value();
    }
  }
  uint64_t most_bytes = 0;
  for (const auto& [gpu, bytes] : here) most_bytes = std::max(most_bytes, bytes);
  std::vector<size_t> most;
  for (const auto& [gpu, bytes] : here) {
    if (bytes == most_bytes || !all_told) most.push_back(gpu);
  }
  return most;
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

using Places = std::vector<std::optional<size_t>>;  // in the order in which a framework counts; absent: not known

/// "3", "GPU-8932f937-d72c", which may be cut short.
std::optional<size_t> by_token(const std::vector<OccupiedGpu>& gpus, const Places& among, std::string_view token) {
  if (const std::optional<size_t> number = whole_number<size_t>(token)) {
    return *number < among.size() ? among[*number] : std::nullopt;
  }
  std::optional<size_t> found;
  for (const std::optional<size_t>& place : among) {
    if (!place || token.empty() || !gpus[*place].identity.uuid.starts_with(token)) continue;
    if (found) return std::nullopt;  // one of several
    found = place;
  }
  return found;
}

Places all_places(const std::vector<OccupiedGpu>& gpus) {
  Places places;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const int32_t index = gpus[i].identity.index;
    if (index < 0) continue;
    places.resize(std::max(places.size(), static_cast<size_t>(index) + 1));
    places[static_cast<size_t>(index)] = i;
  }
  return places;
}

std::optional<size_t> by_description(const std::vector<OccupiedGpu>& gpus, GpuVendor vendor, const SampledRank& rank) {
  if (rank.gpus != vendor || rank.local_rank < 0) return std::nullopt;
  Places seen = all_places(gpus);
  bool is_chosen = false;
  const auto choose = [&](const char* list) {
    const auto found = rank.visible_devices.find(list);
    is_chosen = is_chosen || found != rank.visible_devices.end();
    if (found == rank.visible_devices.end()) return false;
    Places chosen;
    for (const std::string_view token : tokens_of(found->second)) chosen.push_back(by_token(gpus, seen, token));
    seen = std::move(chosen);
    return true;
  };
  if (vendor == GpuVendor::kAmd) {
    choose("ROCR_VISIBLE_DEVICES");  // the next list counts within this one
    if (!choose("HIP_VISIBLE_DEVICES")) choose("CUDA_VISIBLE_DEVICES");
  } else {
    choose("CUDA_VISIBLE_DEVICES");
  }
  // A launcher may show each rank its own GPU alone.
  const size_t place = is_chosen && seen.size() == 1 ? 0 : static_cast<size_t>(rank.local_rank);
  return place < seen.size() ? seen[place] : std::nullopt;
}

}  // namespace

std::map<int32_t, size_t> assign_gpus(const std::vector<OccupiedGpu>& gpus, GpuVendor vendor, const SampledJob& job,
                                      bool same_pids) {
  std::map<int32_t, size_t> assigned;
  bool any_seen = false;
  for (const SampledRank& rank : job.ranks) {
    if (!same_pids || (rank.gpus != GpuVendor::kNone && rank.gpus != vendor)) continue;
    const std::vector<size_t> found = by_process(gpus, rank.pid);
    any_seen = any_seen || !found.empty();
    if (found.size() == 1) assigned.emplace(rank.rank, found.front());
    if (found.size() < 2) continue;
    const std::optional<size_t> told = by_description(gpus, vendor, rank);
    if (told && std::ranges::find(found, *told) != found.end()) assigned.emplace(rank.rank, *told);
  }
  if (any_seen) return assigned;
  for (const SampledRank& rank : job.ranks) {
    if (const auto gpu = by_description(gpus, vendor, rank)) assigned.emplace(rank.rank, *gpu);
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
