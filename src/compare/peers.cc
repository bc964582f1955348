#include "compare/peers.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace eroica {
namespace {

class UnionFind {
 public:
  explicit UnionFind(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }
  uint32_t find(uint32_t a) {
    while (parent_[a] != a) a = parent_[a] = parent_[parent_[a]];
    return a;
  }
  void join(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

bool says(const std::string& desc, std::string_view word) {
  const auto found = std::search(desc.begin(), desc.end(), word.begin(), word.end(),
                                 [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
  return found != desc.end();
}

bool is_exchange(const std::string& kind) { return kind == "send" || kind == "recv"; }

uint64_t pair_key(int32_t a, int32_t b) {
  return static_cast<uint64_t>(static_cast<uint32_t>(std::min(a, b))) << 32 | static_cast<uint32_t>(std::max(a, b));
}

// Which groups are used for sends and receives, and which for anything else.
struct GroupUse {
  bool exchanges = false;
  bool symmetric = false;
};

std::vector<GroupUse> group_uses(const Job& job) {
  std::vector<GroupUse> uses(job.groups.size());
  for (const CollectiveUse& use : job.collectives) {
    (is_exchange(job.words[use.kind]) ? uses[use.group].exchanges : uses[use.group].symmetric) = true;
  }
  return uses;
}

// Pairs of ranks that are in different stages.
std::unordered_set<uint64_t> apart(const Job& job, const std::vector<GroupUse>& uses) {
  std::unordered_set<uint64_t> pairs;
  for (const auto& [a, b] : job.exchanges) pairs.insert(pair_key(a, b));
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const JobGroup& group = job.groups[i];
    if (group.ranks.size() > 1024) continue;
    const bool only_exchanges = uses[i].exchanges && !uses[i].symmetric && group.ranks.size() == 2;
    if (!only_exchanges && !says(group.desc, "PIPELINE")) continue;
    for (size_t a = 0; a < group.ranks.size(); ++a) {
      for (size_t b = a + 1; b < group.ranks.size(); ++b) pairs.insert(pair_key(group.ranks[a], group.ranks[b]));
    }
  }
  return pairs;
}

bool spans_stages(const JobGroup& group, const std::unordered_set<uint64_t>& apart) {
  if (group.ranks.size() > 1024) return true;  // of a job with a pipeline; small groups tell enough
  for (size_t a = 0; a < group.ranks.size(); ++a) {
    for (size_t b = a + 1; b < group.ranks.size(); ++b) {
      if (apart.contains(pair_key(group.ranks[a], group.ranks[b]))) return true;
    }
  }
  return false;
}

// What a rank runs how often, roughly: for jobs whose groups are not known.
uint64_t fingerprint(const Job& job, const RankFacts& rank) {
  std::map<uint64_t, int64_t> calls;
  for (const FunctionUse& use : job.uses_of(rank)) {
    if (job.functions[use.function].kind == FunctionKind::kCompute && use.exposed > 0.02F) {
      calls[job.functions[use.function].hash] = std::lround(use.calls);
    }
  }
  uint64_t hash = 0;
  for (const auto& [function, count] : calls)
    hash = hash * 1099511628211ULL + (function ^ static_cast<uint64_t>(count));
  return hash;
}

// The first rank's place among those that it is apart from, as ranks of a pipeline are numbered along it.
std::vector<int32_t> stages_of(const Job& job, const std::vector<std::vector<uint32_t>>& components,
                               const std::unordered_set<uint64_t>& apart) {
  std::unordered_map<int32_t, std::vector<int32_t>> partners;
  for (const uint64_t pair : apart) {
    const auto a = static_cast<int32_t>(pair >> 32);
    const auto b = static_cast<int32_t>(pair & 0xffffffff);
    partners[a].push_back(b);
    partners[b].push_back(a);
  }
  // Components that exchange messages, in order of their lowest ranks, are one pipeline.
  std::unordered_map<int32_t, uint32_t> component_of;
  for (uint32_t c = 0; c < components.size(); ++c) {
    for (const uint32_t index : components[c]) component_of[job.ranks[index].rank] = c;
  }
  UnionFind chains(components.size());
  for (const auto& [rank, others] : partners) {
    const auto mine = component_of.find(rank);
    if (mine == component_of.end()) continue;
    for (const int32_t other : others) {
      const auto theirs = component_of.find(other);
      if (theirs != component_of.end()) chains.join(mine->second, theirs->second);
    }
  }
  std::unordered_map<uint32_t, int32_t> next;
  std::vector<int32_t> stages;
  stages.reserve(components.size());
  for (uint32_t c = 0; c < components.size(); ++c) stages.push_back(next[chains.find(c)]++);
  return stages;
}

void split_by_device(const Job& job, Peers& peers) {
  std::vector<PeerSet> sets;
  for (PeerSet& set : peers.sets) {
    std::map<std::string, std::vector<uint32_t>> by_device;
    for (const uint32_t index : set.ranks) by_device[job.words[job.ranks[index].device]].push_back(index);
    if (by_device.size() == 1) {
      sets.push_back(std::move(set));
      continue;
    }
    for (auto& [device, ranks] : by_device) {
      PeerSet part = set;
      part.name = fmt::format("{} on {}", set.name, device.empty() ? "unknown devices" : device);
      part.why += ", same accelerator";
      part.ranks = std::move(ranks);
      sets.push_back(std::move(part));
    }
  }
  peers.sets = std::move(sets);
}

}  // namespace

Peers find_peers(const Job& job) {
  Peers peers;
  const std::vector<GroupUse> uses = group_uses(job);
  const std::unordered_set<uint64_t> different = apart(job, uses);
  bool exchanges = !different.empty();
  for (const GroupUse& use : uses) exchanges = exchanges || use.exchanges;

  std::vector<uint32_t> all(job.ranks.size());
  std::iota(all.begin(), all.end(), 0U);
  if (!exchanges) {
    peers.sets.push_back({"all ranks", "no pipeline: every rank runs the same program", all, 0});
  } else if (!different.empty()) {
    std::unordered_map<int32_t, uint32_t> index_of;
    for (const uint32_t index : all) index_of[job.ranks[index].rank] = index;
    UnionFind same(job.ranks.size());
    for (const JobGroup& group : job.groups) {
      if (group.ranks.size() < 2 || spans_stages(group, different)) continue;
      const uint32_t* first = nullptr;
      for (const int32_t rank : group.ranks) {
        const auto found = index_of.find(rank);
        if (found == index_of.end()) continue;
        if (first != nullptr) same.join(*first, found->second);
        first = &found->second;
      }
    }
    std::map<uint32_t, std::vector<uint32_t>> components;
    for (const uint32_t index : all) components[same.find(index)].push_back(index);
    std::vector<std::vector<uint32_t>> parts;
    parts.reserve(components.size());
    for (auto& [root, ranks] : components) parts.push_back(std::move(ranks));
    const std::vector<int32_t> stages = stages_of(job, parts, different);
    // Without data parallelism across them, replicas of a stage share no group; their stage makes them peers.
    std::map<int32_t, PeerSet> by_stage;
    for (size_t i = 0; i < parts.size(); ++i) {
      PeerSet& set = by_stage[stages[i]];
      set.stage = stages[i];
      set.name = fmt::format("stage {}", stages[i]);
      set.why = "collectives join them, and they exchange activations with other stages only";
      set.ranks.insert(set.ranks.end(), parts[i].begin(), parts[i].end());
    }
    for (auto& [stage, set] : by_stage) {
      std::sort(set.ranks.begin(), set.ranks.end());
      peers.sets.push_back(std::move(set));
    }
    peers.stages = static_cast<int32_t>(by_stage.size());
  } else {
    peers.certain = false;
    std::map<uint64_t, std::vector<uint32_t>> alike;
    for (const uint32_t index : all) alike[fingerprint(job, job.ranks[index])].push_back(index);
    std::vector<std::vector<uint32_t>> parts;
    parts.reserve(alike.size());
    for (auto& [hash, ranks] : alike) parts.push_back(std::move(ranks));
    std::sort(parts.begin(), parts.end());
    for (size_t i = 0; i < parts.size(); ++i) {
      peers.sets.push_back({fmt::format("like rank {}", job.ranks[parts[i].front()].rank),
                            "the same functions as often; no group tells the pipeline's stages", parts[i],
                            static_cast<int32_t>(i)});
    }
    peers.stages = static_cast<int32_t>(parts.size());
  }
  split_by_device(job, peers);
  peers.set_of.assign(job.ranks.size(), 0);
  for (uint32_t i = 0; i < peers.sets.size(); ++i) {
    for (const uint32_t index : peers.sets[i].ranks) peers.set_of[index] = i;
  }
  for (const RankFacts& rank : job.ranks) {
    if (peers.stages > 1) peers.micro_batches = std::max<double>(peers.micro_batches, rank.sends_per_step);
  }
  // Stages in the middle send forward and backward.
  if (peers.stages > 2) peers.micro_batches = std::max(1.0, peers.micro_batches / 2);
  return peers;
}

}  // namespace eroica
