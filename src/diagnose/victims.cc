#include "diagnose/victims.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "compare/union_find.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

// Ranks that wait for each other.
class Joined {
 public:
  explicit Joined(const Job& job) : parts_(job.ranks.size()) {
    std::vector<uint32_t> member(job.groups.size(), kNobody);
    for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      index_.emplace(job.ranks[rank].rank, rank);
      for (const CollectiveUse& use : job.collectives_of(job.ranks[rank])) {
        if (waits_for_all(job.words[use.kind])) join_member(member[use.group], rank);
      }
    }
    // Members that wrote no trace stand in the lists of the others.
    for (size_t group = 0; group < job.groups.size(); ++group) {
      if (member[group] == kNobody) continue;
      for (const int32_t rank : job.groups[group].ranks) {
        const auto found = index_.find(rank);
        if (found != index_.end()) parts_.join(member[group], found->second);
      }
    }
    for (const auto& [a, b] : job.exchanges) {
      const auto one = index_.find(a);
      const auto other = index_.find(b);
      if (one != index_.end() && other != index_.end()) parts_.join(one->second, other->second);
    }
  }

  uint32_t part_of(uint32_t rank) { return parts_.find(rank); }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;

  // The root of a broadcast and the sources of a reduction do not wait.
  static bool waits_for_all(std::string_view kind) {
    constexpr std::array<std::string_view, 4> kNot{"broadcast", "reduce", "gather", "scatter"};
    return !is_message(kind) && std::ranges::find(kNot, kind) == kNot.end();
  }

  void join_member(uint32_t& member, uint32_t rank) {
    if (member == kNobody) member = rank;
    parts_.join(member, rank);
  }

  UnionFind parts_;
  std::unordered_map<int32_t, uint32_t> index_;  // by number
};

}  // namespace

std::vector<int32_t> victims_of(const Job& job, const std::set<int32_t>& culprits) {
  if (culprits.empty()) return {};
  Joined joined(job);
  std::set<uint32_t> parts;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (culprits.contains(job.ranks[rank].rank)) parts.insert(joined.part_of(rank));
  }
  std::vector<int32_t> victims;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const int32_t number = job.ranks[rank].rank;
    if (!culprits.contains(number) && parts.contains(joined.part_of(rank))) victims.push_back(number);
  }
  return victims;
}

}  // namespace eroica
