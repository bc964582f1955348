#include "compare/stage_order.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "compare/union_find.h"

namespace eroica {
namespace {

using Links = std::vector<std::vector<uint32_t>>;  // by part, without doubles

struct Chain {
  std::vector<uint32_t> parts;  // in order
  bool whole = false;           // what stands at its ends was seen
};

// Parts of the same neighbours that nobody saw are one stage's ranks: only collectives between them would have told.
std::vector<uint32_t> merge_unseen(const std::vector<StagePart>& parts, const Links& links) {
  std::vector<uint32_t> stands_for(parts.size());
  std::map<std::vector<uint32_t>, uint32_t> first;
  for (uint32_t i = 0; i < parts.size(); ++i) {
    stands_for[i] = i;
    if (parts[i].present || links[i].empty()) continue;
    stands_for[i] = first.try_emplace(links[i], i).first->second;
  }
  return stands_for;
}

Links links_of(size_t count, const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  Links links(count);
  for (const auto& [a, b] : pairs) {
    if (a == b) continue;
    links[a].push_back(b);
    links[b].push_back(a);
  }
  for (std::vector<uint32_t>& of_part : links) {
    std::sort(of_part.begin(), of_part.end());
    of_part.erase(std::unique(of_part.begin(), of_part.end()), of_part.end());
  }
  return links;
}

// Along a chain or around a ring from `start` towards its lowest neighbour.
std::vector<uint32_t> walk(uint32_t start, const std::vector<StagePart>& parts, const Links& links) {
  std::vector<uint32_t> order{start};
  uint32_t before = start;
  uint32_t at = start;
  while (true) {
    const uint32_t* next = nullptr;
    for (const uint32_t& other : links[at]) {
      if (other == before || other == start) continue;
      if (next == nullptr || parts[other].lowest_rank < parts[*next].lowest_rank) next = &other;
    }
    if (next == nullptr) return order;
    before = at;
    at = *next;
    order.push_back(at);
  }
}

Chain chain_of(std::vector<uint32_t> members, const std::vector<StagePart>& parts, const Links& links) {
  const auto lower = [&](uint32_t a, uint32_t b) {
    return std::tie(parts[a].lowest_rank, a) < std::tie(parts[b].lowest_rank, b);
  };
  std::sort(members.begin(), members.end(), lower);
  std::vector<uint32_t> ends;
  bool forks = false;
  for (const uint32_t part : members) {
    if (links[part].size() == 1) ends.push_back(part);
    forks = forks || links[part].size() > 2;
  }
  const bool is_chain = !forks && ends.size() == 2;
  const bool is_ring = !forks && ends.empty() && members.size() > 2;
  if (!is_chain && !is_ring) {
    const bool whole = std::all_of(members.begin(), members.end(), [&](uint32_t part) { return parts[part].present; });
    return {std::move(members), whole};
  }
  const bool whole = is_ring || (parts[ends[0]].present && parts[ends[1]].present);
  return {walk(is_chain ? ends.front() : members.front(), parts, links), whole};
}

}  // namespace

std::vector<StagePlace> order_stages(const std::vector<StagePart>& parts,
                                     const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  const std::vector<uint32_t> stands_for = merge_unseen(parts, links_of(parts.size(), pairs));
  std::vector<std::pair<uint32_t, uint32_t>> merged;
  merged.reserve(pairs.size());
  for (const auto& [a, b] : pairs) merged.emplace_back(stands_for[a], stands_for[b]);
  const Links links = links_of(parts.size(), merged);

  UnionFind together(parts.size());
  for (const auto& [a, b] : merged) together.join(a, b);
  std::map<uint32_t, std::vector<uint32_t>> members;
  for (uint32_t i = 0; i < parts.size(); ++i) {
    if (stands_for[i] == i) members[together.find(i)].push_back(i);
  }
  std::vector<Chain> chains;
  chains.reserve(members.size());
  for (auto& [root, of_chain] : members) chains.push_back(chain_of(std::move(of_chain), parts, links));
  std::sort(chains.begin(), chains.end(), [&](const Chain& a, const Chain& b) {
    return parts[a.parts.front()].lowest_rank < parts[b.parts.front()].lowest_rank;
  });

  std::map<size_t, uint32_t> whole_of_length;  // and which pipeline it is
  for (const Chain& chain : chains) {
    if (chain.whole) whole_of_length.try_emplace(chain.parts.size(), UINT32_MAX);
  }
  std::vector<StagePlace> places(parts.size());
  uint32_t pipelines = 0;
  for (const Chain& chain : chains) {
    const auto found = whole_of_length.find(chain.parts.size());
    const bool new_one = found == whole_of_length.end() || found->second == UINT32_MAX;
    const uint32_t pipeline = new_one ? pipelines++ : found->second;
    if (found != whole_of_length.end()) found->second = pipeline;
    for (size_t i = 0; i < chain.parts.size(); ++i) places[chain.parts[i]] = {pipeline, static_cast<int32_t>(i)};
  }
  for (uint32_t i = 0; i < parts.size(); ++i) places[i] = places[stands_for[i]];
  return places;
}

}  // namespace eroica
