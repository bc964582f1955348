#include "compare/pipeline_links.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compare/program_difference.h"
#include "compare/union_find.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

constexpr size_t kLargestGroup = 1024;  // in which neighbours are looked for

using Pair = std::pair<int32_t, int32_t>;

// What a group's description says of the ranks in it.
enum class GroupRole : uint8_t {
  kUnknown,
  kPipeline,   // its ranks are stages
  kSameStage,  // its ranks share a stage: data, tensor, context, expert parallel
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Which groups are used for sends and receives, and which for anything else.
struct GroupUse {
  bool exchanges = false;
  bool collectives = false;
};

std::vector<GroupUse> group_uses(const Job& job) {
  std::vector<GroupUse> uses(job.groups.size());
  for (const CollectiveUse& use : job.collectives) {
    (is_message(job.words[use.kind]) ? uses[use.group].exchanges : uses[use.group].collectives) = true;
  }
  return uses;
}

// The smallest group with messages that has both ranks.
class Owners {
 public:
  Owners(const Job& job, const std::vector<GroupUse>& uses) {
    for (uint32_t group = 0; group < job.groups.size(); ++group) {
      if (uses[group].exchanges && job.groups[group].ranks.size() <= kLargestGroup) by_size_.push_back(group);
    }
    std::stable_sort(by_size_.begin(), by_size_.end(),
                     [&](uint32_t a, uint32_t b) { return job.groups[a].ranks.size() < job.groups[b].ranks.size(); });
    for (uint32_t place = 0; place < by_size_.size(); ++place) {
      for (const int32_t rank : job.groups[by_size_[place]].ranks) places_[rank].push_back(place);
    }
  }
  static constexpr uint32_t kNone = UINT32_MAX;
  [[nodiscard]] uint32_t owner(const Pair& pair) const {
    const auto a = places_.find(pair.first);
    const auto b = places_.find(pair.second);
    if (a == places_.end() || b == places_.end()) return kNone;
    auto left = a->second.begin();
    auto right = b->second.begin();
    while (left != a->second.end() && right != b->second.end()) {
      if (*left == *right) return by_size_[*left];
      *left < *right ? ++left : ++right;
    }
    return kNone;
  }

 private:
  std::vector<uint32_t> by_size_;
  std::unordered_map<int32_t, std::vector<uint32_t>> places_;  // in by_size_, ascending
};

// Does every rank exchange with at least two others, as in a ring?
bool is_closed(const std::vector<Pair>& pairs) {
  std::map<int32_t, size_t> partners;
  for (const auto& [a, b] : pairs) {
    ++partners[a];
    ++partners[b];
  }
  return std::all_of(partners.begin(), partners.end(), [](const auto& of_rank) { return of_rank.second >= 2; });
}

// The ranks' groups through which data is reduced or gathered, but for those of all ranks: stages share none, unless
// the first and the last hold the same embedding.
std::unordered_map<int32_t, std::vector<uint32_t>> data_groups(const Job& job) {
  constexpr float kTellingBytes = 4096;
  std::unordered_map<int32_t, std::vector<uint32_t>> groups;
  for (const RankFacts& rank : job.ranks) {
    for (const CollectiveUse& use : job.collectives_of(rank)) {
      const size_t size = job.groups[use.group].ranks.size();
      if (is_message(job.words[use.kind]) || use.bytes < kTellingBytes || size < 2 || size >= job.ranks.size())
        continue;
      groups[rank.rank].push_back(use.group);
    }
  }
  return groups;
}

bool share_one(const std::unordered_map<int32_t, std::vector<uint32_t>>& groups, const Pair& pair) {
  const auto a = groups.find(pair.first);
  const auto b = groups.find(pair.second);
  return a != groups.end() && b != groups.end() && std::ranges::any_of(a->second, [&](uint32_t group) {
           return std::ranges::find(b->second, group) != b->second.end();
         });
}

bool run_alike(const Job& job, const std::vector<Pair>& pairs) {
  std::vector<int32_t> ranks;
  for (const auto& [a, b] : pairs) {
    ranks.push_back(a);
    ranks.push_back(b);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<Program> programs;
  for (const int32_t rank : ranks) {
    const auto found = std::lower_bound(job.ranks.begin(), job.ranks.end(), rank,
                                        [](const RankFacts& facts, int32_t wanted) { return facts.rank < wanted; });
    if (found == job.ranks.end() || found->rank != rank || !found->observed) continue;
    programs.push_back(program_of(job, *found));
    if (programs.back().parts.empty()) return false;
  }
  if (programs.size() < 2) return false;
  size_t most = 0;
  for (const auto& alike : cluster(programs, is_same_part)) most = std::max(most, alike.size());
  return most == programs.size() || (programs.size() > 2 && most + 1 == programs.size());
}

// The pairs that hang together, each part for itself.
std::vector<std::vector<Pair>> connected(const std::vector<Pair>& pairs) {
  std::map<int32_t, uint32_t> places;
  for (const auto& [a, b] : pairs) {
    places.try_emplace(a, static_cast<uint32_t>(places.size()));
    places.try_emplace(b, static_cast<uint32_t>(places.size()));
  }
  UnionFind parts(places.size());
  for (const auto& [a, b] : pairs) parts.join(places.at(a), places.at(b));
  std::map<uint32_t, std::vector<Pair>> by_part;
  for (const Pair& pair : pairs) by_part[parts.find(places.at(pair.first))].push_back(pair);
  std::vector<std::vector<Pair>> result;
  result.reserve(by_part.size());
  for (auto& [root, of_part] : by_part) result.push_back(std::move(of_part));
  return result;
}

GroupRole group_role(std::string_view desc) {
  bool pipeline = false;
  bool same_stage = false;
  std::string word;
  const auto end_word = [&] {
    pipeline = pipeline || is_one_of(word, {"PIPELINE", "PP"});
    same_stage = same_stage || is_one_of(word, {"CONTEXT", "CP", "EXPERT", "EP", "TENSOR", "TP", "DATA", "DP",
                                                "SEQUENCE", "SP", "FSDP", "RING", "ULYSSES"});
    word.clear();
  };
  for (const char c : desc) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    } else {
      end_word();
    }
  }
  end_word();
  // A group over both, as Megatron's of tensor and pipeline, says nothing of two of its ranks.
  if (pipeline == same_stage) return GroupRole::kUnknown;
  return pipeline ? GroupRole::kPipeline : GroupRole::kSameStage;
}

}  // namespace

PipelineLinks pipeline_links(const Job& job) {
  const std::vector<GroupUse> uses = group_uses(job);
  PipelineLinks links;
  links.carries.resize(job.groups.size());
  std::vector<GroupRole> roles;
  roles.reserve(job.groups.size());
  std::vector<bool> told(job.groups.size());  // with whom its ranks exchange
  std::vector<Pair>& neighbours = links.neighbours;
  std::map<uint32_t, std::vector<Pair>> undecided;  // by group, of two: together
  const auto decide_later = [&](uint32_t owner, const Pair& pair) {
    const bool of_many = owner != Owners::kNone && job.groups[owner].ranks.size() > 2;
    undecided[of_many ? owner : Owners::kNone].push_back(pair);
  };

  for (uint32_t i = 0; i < job.groups.size(); ++i) {
    const std::vector<int32_t>& ranks = job.groups[i].ranks;
    roles.push_back(group_role(job.groups[i].desc));
    if (roles[i] == GroupRole::kPipeline && ranks.size() > 1 && ranks.size() <= kLargestGroup) {
      // Ranks of a pipeline are numbered along it.
      for (size_t r = 1; r < ranks.size(); ++r) {
        if (ranks[r - 1] != ranks[r]) neighbours.emplace_back(ranks[r - 1], ranks[r]);
      }
      told[i] = true;
    } else if (roles[i] == GroupRole::kUnknown && ranks.size() == 2 && ranks[0] != ranks[1] && uses[i].exchanges &&
               !uses[i].collectives) {
      undecided[Owners::kNone].emplace_back(ranks[0], ranks[1]);
      told[i] = true;
    }
  }
  const Owners owners(job, uses);
  for (const Pair& pair : job.exchanges) {
    const uint32_t owner = owners.owner(pair);
    const GroupRole role = owner == Owners::kNone ? GroupRole::kUnknown : roles[owner];
    if (role == GroupRole::kPipeline) neighbours.push_back(pair);
    if (role == GroupRole::kUnknown) decide_later(owner, pair);
    if (owner != Owners::kNone) told[owner] = true;
  }
  std::vector<Pair> within;  // a stage
  const auto sharing = undecided.empty() ? std::unordered_map<int32_t, std::vector<uint32_t>>() : data_groups(job);
  for (auto& [owner, pairs] : undecided) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    for (const std::vector<Pair>& part : connected(pairs)) {
      const bool round = is_closed(part) && run_alike(job, part);
      for (const Pair& pair : part) {
        const bool share_stage = round || (share_one(sharing, pair) && run_alike(job, {pair}));
        (share_stage ? within : neighbours).push_back(pair);
      }
    }
  }
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  std::sort(within.begin(), within.end());

  for (uint32_t i = 0; i < job.groups.size(); ++i) {
    if (!uses[i].exchanges || roles[i] == GroupRole::kSameStage) continue;
    links.unknown_partners = links.unknown_partners || !told[i];
    const std::vector<int32_t>& ranks = job.groups[i].ranks;
    links.carries[i] = true;
    for (size_t r = 1; r < ranks.size(); ++r) {
      if (std::binary_search(within.begin(), within.end(), Pair{ranks[r - 1], ranks[r]})) links.carries[i] = false;
    }
  }
  return links;
}

}  // namespace eroica
