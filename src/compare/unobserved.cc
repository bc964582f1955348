#include "compare/unobserved.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "compare/peers.h"

namespace eroica {
namespace {

// The rank with the median of own time.
uint32_t typical(const Job& job, std::vector<uint32_t> ranks) {
  const auto middle = ranks.begin() + static_cast<ptrdiff_t>(ranks.size() / 2);
  std::nth_element(ranks.begin(), middle, ranks.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(job.ranks[a].own(), a) < std::pair(job.ranks[b].own(), b);
  });
  return *middle;
}

// The same once more at the end of its column: what a rank has is its own.
template <typename T>
void repeat(std::vector<T>& column, uint32_t& begin, uint32_t& end) {
  const std::vector<T> copied(column.begin() + begin, column.begin() + end);
  begin = static_cast<uint32_t>(column.size());
  column.insert(column.end(), copied.begin(), copied.end());
  end = static_cast<uint32_t>(column.size());
}

void stand_in(Job& job, const RankFacts& peer, RankFacts& rank) {
  RankFacts taken = peer;
  repeat(job.uses, taken.uses_begin, taken.uses_end);
  repeat(job.collectives, taken.collectives_begin, taken.collectives_end);
  repeat(job.steps, taken.steps_begin, taken.steps_end);
  taken.hardware_begin = taken.hardware_end = 0;
  taken.groups_begin = rank.groups_begin;
  taken.groups_end = rank.groups_end;
  taken.rank = rank.rank;
  taken.host = rank.host;
  taken.device = rank.device != 0 ? rank.device : peer.device;
  taken.gpu = rank.gpu;
  taken.labels = rank.labels;
  taken.observed = false;
  taken.events = 0;
  rank = taken;
}

}  // namespace

void stand_in_for_unobserved(Job& job) {
  std::vector<uint32_t> observed;
  for (uint32_t i = 0; i < job.ranks.size(); ++i) {
    if (job.ranks[i].observed) observed.push_back(i);
  }
  if (observed.size() == job.ranks.size() || observed.empty()) return;
  const uint32_t usual = typical(job, observed);
  std::unordered_map<uint32_t, uint32_t> first_on_host;
  for (const uint32_t rank : observed) first_on_host.try_emplace(job.ranks[rank].host, rank);
  for (RankFacts& rank : job.ranks) {
    if (rank.observed) continue;
    const auto neighbour = first_on_host.find(rank.host);
    rank.device = job.ranks[neighbour != first_on_host.end() ? neighbour->second : usual].device;
  }
  const Peers peers = find_peers(job);
  std::vector<std::optional<uint32_t>> typical_of(peers.sets.size());
  for (uint32_t i = 0; i < job.ranks.size(); ++i) {
    if (job.ranks[i].observed) continue;
    std::optional<uint32_t>& peer = typical_of[peers.set_of[i]];
    if (!peer) {
      std::vector<uint32_t> alike = peers.sets[peers.set_of[i]].ranks;
      std::erase_if(alike, [&](uint32_t other) { return !job.ranks[other].observed; });
      peer = alike.empty() ? usual : typical(job, std::move(alike));
    }
    stand_in(job, job.ranks[*peer], job.ranks[i]);
  }
}

bool is_observed(const Subject& subject, const Job& job) {
  return std::ranges::any_of(subject.ranks(), [&](uint32_t rank) { return job.ranks[rank].observed; });
}

double waited_for(const Job& job, const std::vector<uint32_t>& set) {
  double least = 1;
  bool any = false;
  for (const uint32_t rank : set) {
    if (!job.ranks[rank].observed) continue;
    any = true;
    least = std::min<double>(least, job.ranks[rank].share[static_cast<size_t>(TimeClass::kCommunication)]);
  }
  return any ? least : 0;
}

}  // namespace eroica
