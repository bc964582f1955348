#include "sample/numa_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sample/fields.h"

namespace eroica {
namespace {

constexpr int32_t kMostCpus = 1 << 16;
constexpr std::string_view kFolder = "/sys/devices/system/node";
constexpr std::string_view kNode = "node";
constexpr size_t kDomainLength = 4;

}  // namespace

std::vector<int32_t> parse_cpu_list(std::string_view text) {
  std::vector<int32_t> cpus;
  std::string_view list = take_field(text);
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const size_t dash = part.find('-');
    const std::optional<int32_t> first = whole_number<int32_t>(part.substr(0, dash));
    const std::optional<int32_t> last =
        dash == std::string_view::npos ? first : whole_number<int32_t>(part.substr(dash + 1));
    if (first && last && *first >= 0 && *last < kMostCpus) {
      for (int32_t cpu = *first; cpu <= *last && cpus.size() < kMostCpus; ++cpu) cpus.push_back(cpu);
    }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return cpus;
}

NumaNodes::NumaNodes(const SystemFiles& files) {
  for (const std::string& name : files.list(std::string(kFolder))) {
    if (!name.starts_with(kNode)) continue;
    const std::optional<int32_t> node = whole_number<int32_t>(std::string_view(name).substr(kNode.size()));
    if (!node) continue;
    const std::vector<int32_t> cpus = parse_cpu_list(files.read(fmt::format("{}/{}/cpulist", kFolder, name)));
    for (const int32_t cpu : cpus) nodes_[cpu] = *node;
    if (!cpus.empty()) ++count_;
  }
}

std::optional<int32_t> NumaNodes::of_cpu(int32_t cpu) const {
  const auto found = nodes_.find(cpu);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int32_t> node_of_device(const SystemFiles& files, std::string_view bus_id) {
  std::string name(bus_id);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const size_t colon = name.find(':');
  if (colon == std::string::npos || name.find('/') != std::string::npos) return std::nullopt;
  if (colon > kDomainLength) name.erase(0, colon - kDomainLength);  // some write it with eight digits
  std::string text;
  if (!files.read(fmt::format("/sys/bus/pci/devices/{}/numa_node", name), text)) return std::nullopt;
  std::string_view rest = text;
  const std::optional<int32_t> node = whole_number<int32_t>(take_field(rest));
  return node && *node >= 0 ? node : std::nullopt;
}

}  // namespace eroica
