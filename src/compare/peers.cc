#include "compare/peers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "compare/pipeline_links.h"
#include "compare/program_difference.h"
#include "compare/stage_order.h"
#include "compare/union_find.h"

namespace eroica {
namespace {

constexpr size_t kLargestGroup = 1024;  // of a job with a pipeline; small groups tell enough
constexpr float kTellingBytes = 4096;   // flags and norms are reduced over ranks that do different things
constexpr uint32_t kNone = UINT32_MAX;

bool is_symmetric(const std::string& kind) { return kind.starts_with("all_") || kind.starts_with("reduce_scatter"); }

// Ranks, whether seen or only named by others, and what the links between them say.
class Chains {
 public:
  Chains(const Job& job, const PipelineLinks& links) {
    for (const RankFacts& rank : job.ranks) ranks_.push_back(rank.rank);
    for (const JobGroup& group : job.groups) {
      if (group.ranks.size() <= kLargestGroup) ranks_.insert(ranks_.end(), group.ranks.begin(), group.ranks.end());
    }
    for (const auto& [a, b] : links.neighbours) {
      ranks_.push_back(a);
      ranks_.push_back(b);
    }
    std::sort(ranks_.begin(), ranks_.end());
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    neighbours_.resize(ranks_.size());
    UnionFind parts(ranks_.size());
    for (const auto& [a, b] : links.neighbours) {
      const uint32_t left = place(a);
      const uint32_t right = place(b);
      neighbours_[left].push_back(right);
      neighbours_[right].push_back(left);
      parts.join(left, right);
    }
    std::vector<bool> forks(ranks_.size());
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      if (neighbours_[i].size() > 2) forks[parts.find(i)] = true;
    }
    // Along a chain or a ring every rank is a stage; where it forks only neighbours are known to differ.
    chain_.reserve(ranks_.size());
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      const uint32_t root = parts.find(i);
      chain_.push_back(neighbours_[i].empty() || forks[root] ? kNone : root);
    }
    stamp_.assign(ranks_.size(), kNone);
  }

  [[nodiscard]] size_t size() const { return ranks_.size(); }
  [[nodiscard]] int32_t rank(uint32_t place) const { return ranks_[place]; }
  [[nodiscard]] const std::vector<uint32_t>& neighbours(uint32_t place) const { return neighbours_[place]; }
  [[nodiscard]] uint32_t place(int32_t rank) const {
    return static_cast<uint32_t>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
  }
  /// The members of a group where all of them are in one stage; else nobody.
  std::vector<uint32_t> of_one_stage(const JobGroup& group) {
    std::vector<uint32_t> members;
    if (group.ranks.size() < 2 || group.ranks.size() > kLargestGroup) return members;
    ++stamps_;
    std::vector<uint32_t> chains;
    for (const int32_t rank : group.ranks) {
      members.push_back(place(rank));
      stamp_[members.back()] = stamps_;
      if (chain_[members.back()] != kNone) chains.push_back(chain_[members.back()]);
    }
    std::sort(chains.begin(), chains.end());
    bool spans = std::adjacent_find(chains.begin(), chains.end()) != chains.end();
    for (const uint32_t member : members) {
      spans = spans || std::any_of(neighbours_[member].begin(), neighbours_[member].end(),
                                   [&](uint32_t other) { return stamp_[other] == stamps_; });
    }
    if (spans) members.clear();
    return members;
  }

 private:
  std::vector<int32_t> ranks_;                     // ascending
  std::vector<std::vector<uint32_t>> neighbours_;  // by place in ranks_
  std::vector<uint32_t> chain_;                    // …; kNone: in none
  std::vector<uint32_t> stamp_;                    // … the last group that has it
  uint32_t stamps_ = 0;
};

// Of parts that no collective joins: those that run different programs, told apart.
std::vector<std::vector<uint32_t>> by_program(const Job& job, const std::vector<std::vector<uint32_t>>& parts) {
  std::vector<Program> programs;
  programs.reserve(parts.size());
  for (const std::vector<uint32_t>& part : parts) {
    const auto seen = std::find_if(part.begin(), part.end(), [&](uint32_t index) { return job.ranks[index].observed; });
    programs.push_back(seen == part.end() ? Program() : program_of(job, job.ranks[*seen]));
  }
  const auto belongs = [](const ProgramDifference& difference) { return !is_other_program(difference); };
  std::vector<std::vector<uint32_t>> sets;
  for (const std::vector<uint32_t>& alike : cluster(programs, belongs)) {
    std::vector<uint32_t>& set = sets.emplace_back();
    for (const uint32_t part : alike) set.insert(set.end(), parts[part].begin(), parts[part].end());
    std::sort(set.begin(), set.end());
  }
  return sets;
}

std::vector<std::vector<uint32_t>> parts_of(UnionFind& joined, size_t count) {
  std::map<uint32_t, std::vector<uint32_t>> parts;
  for (uint32_t i = 0; i < count; ++i) parts[joined.find(i)].push_back(i);
  std::vector<std::vector<uint32_t>> result;
  result.reserve(parts.size());
  for (auto& [root, part] : parts) result.push_back(std::move(part));
  return result;
}

// Without a pipeline: collectives of data join ranks that do the same.
void find_programs(const Job& job, Peers& peers) {
  UnionFind joined(job.ranks.size());
  std::vector<uint32_t> first(job.groups.size(), kNone);
  size_t parts = job.ranks.size();
  for (uint32_t i = 0; i < job.ranks.size() && parts > 1; ++i) {
    for (const CollectiveUse& use : job.collectives_of(job.ranks[i])) {
      if (!is_symmetric(job.words[use.kind]) || (use.bytes > 0 && use.bytes < kTellingBytes)) continue;
      if (first[use.group] == kNone) first[use.group] = i;
      if (joined.find(first[use.group]) == joined.find(i)) continue;
      joined.join(first[use.group], i);
      --parts;
    }
  }
  std::vector<std::vector<uint32_t>> sets{std::vector<uint32_t>(job.ranks.size())};
  std::iota(sets.front().begin(), sets.front().end(), 0U);
  if (parts > 1) sets = by_program(job, parts_of(joined, job.ranks.size()));
  if (sets.size() == 1) {
    peers.sets.push_back({"all ranks", "no pipeline: every rank runs the same program", std::move(sets.front()), 0});
    return;
  }
  for (std::vector<uint32_t>& set : sets) {
    peers.sets.push_back({fmt::format("like rank {}", job.ranks[set.front()].rank),
                          "the same functions; no collective joins them with the others, which run other ones",
                          std::move(set), 0});
  }
}

void find_stages(const Job& job, const PipelineLinks& links, Peers& peers) {
  Chains chains(job, links);
  UnionFind joined(chains.size());
  for (const JobGroup& group : job.groups) {
    const std::vector<uint32_t> members = chains.of_one_stage(group);
    for (size_t i = 1; i < members.size(); ++i) joined.join(members[0], members[i]);
  }
  std::vector<uint32_t> part_of(chains.size(), kNone);
  std::vector<StagePart> parts;
  std::vector<std::pair<uint32_t, uint32_t>> between;
  for (uint32_t i = 0; i < chains.size(); ++i) {
    const uint32_t root = joined.find(i);  // the lowest of them
    if (root == i) {
      part_of[i] = static_cast<uint32_t>(parts.size());
      parts.push_back({chains.rank(i), false});
    }
    part_of[i] = part_of[root];
    for (const uint32_t other : chains.neighbours(i)) {
      if (other < i) between.emplace_back(part_of[other], part_of[i]);
    }
  }
  std::vector<std::vector<uint32_t>> members(parts.size());
  for (uint32_t i = 0; i < job.ranks.size(); ++i) {
    const uint32_t part = part_of[chains.place(job.ranks[i].rank)];
    parts[part].present = true;
    members[part].push_back(i);
  }
  const std::vector<StagePlace> places = order_stages(parts, between);
  // Without data parallelism across them, replicas of a stage share no group; their stage makes them peers.
  std::map<std::pair<uint32_t, int32_t>, std::vector<std::vector<uint32_t>>> by_place;
  std::map<uint32_t, size_t> ranks_of;  // a pipeline
  for (uint32_t part = 0; part < parts.size(); ++part) {
    peers.stages = std::max(peers.stages, places[part].stage + 1);
    if (members[part].empty()) continue;
    ranks_of[places[part].pipeline] += members[part].size();
    by_place[{places[part].pipeline, places[part].stage}].push_back(std::move(members[part]));
  }
  for (auto& [place, of_place] : by_place) {
    const auto& [pipeline, stage] = place;
    std::vector<std::vector<uint32_t>> sets = by_program(job, of_place);
    for (std::vector<uint32_t>& ranks : sets) {
      PeerSet set;
      set.stage = stage;
      set.name = fmt::format("stage {}", stage);
      if (ranks_of.size() > 1 || sets.size() > 1) set.name += fmt::format(" of rank {}", job.ranks[ranks.front()].rank);
      set.why = "collectives join them, and they exchange activations with other stages only";
      set.ranks = std::move(ranks);
      peers.sets.push_back(std::move(set));
    }
  }
  std::stable_sort(peers.sets.begin(), peers.sets.end(),
                   [](const PeerSet& a, const PeerSet& b) { return a.stage < b.stage; });
}

// Where a pipeline's groups are not known.
void find_alike(const Job& job, Peers& peers) {
  peers.certain = false;
  std::vector<Program> programs;
  programs.reserve(job.ranks.size());
  for (const RankFacts& rank : job.ranks) programs.push_back(program_of(job, rank));
  for (std::vector<uint32_t>& alike : cluster(programs, is_same_part)) {
    const auto stage = static_cast<int32_t>(peers.sets.size());
    peers.sets.push_back({fmt::format("like rank {}", job.ranks[alike.front()].rank),
                          "the same functions as often; no group tells the pipeline's stages", std::move(alike),
                          stage});
  }
  peers.stages = static_cast<int32_t>(peers.sets.size());
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

// Stages in the middle send forward and backward; with interleaved parts of the model each micro-batch passes several
// times, and the pipeline fills and drains in as many smaller pieces.
double micro_batches(const Job& job, const PipelineLinks& links, int32_t stages) {
  double most = 1;
  for (const RankFacts& rank : job.ranks) {
    double sends = 0;
    for (const CollectiveUse& use : job.collectives_of(rank)) {
      if (links.carries[use.group] && job.words[use.kind] == "send") sends += std::round(use.count);
    }
    most = std::max(most, sends);
  }
  return stages > 2 ? std::max(1.0, most / 2) : most;
}

}  // namespace

Peers find_peers(const Job& job) {
  Peers peers;
  const PipelineLinks links = pipeline_links(job);
  if (!links.neighbours.empty()) {
    find_stages(job, links, peers);
  } else if (links.unknown_partners) {
    find_alike(job, peers);
  } else {
    find_programs(job, peers);
  }
  split_by_device(job, peers);
  peers.set_of.assign(job.ranks.size(), 0);
  for (uint32_t i = 0; i < peers.sets.size(); ++i) {
    for (const uint32_t index : peers.sets[i].ranks) peers.set_of[index] = i;
  }
  if (peers.stages > 1) peers.micro_batches = micro_batches(job, links, peers.stages);
  return peers;
}

}  // namespace eroica
