#include "compare/process_group.h"

#include <algorithm>

namespace eroica {

std::string group_key(const GroupPattern& group) {
  if (group.ranks.empty()) {
    return group.name + '\n' + group.desc + '\n' + std::to_string(group.size);
  }
  std::string key;
  key.reserve(group.ranks.size() * 6);
  for (const int32_t rank : group.ranks) {
    key += std::to_string(rank);
    key += ',';
  }
  return key + group.name;
}

std::optional<int32_t> peer_rank(const GroupPattern& group, int32_t peer) {
  if (peer < 0) return std::nullopt;
  if (std::ranges::find(group.ranks, peer) != group.ranks.end()) return peer;
  const auto place = static_cast<size_t>(peer);
  if (place >= group.ranks.size()) return std::nullopt;
  return group.ranks[place];
}

}  // namespace eroica
