#include "compare/stage_balance.h"

#include <algorithm>
#include <vector>

#include "base/robust.h"

namespace eroica {
namespace {

double own_work(const Job& job, const RankFacts& rank) {
  const auto share = [&](TimeClass one) { return static_cast<double>(rank.share[static_cast<size_t>(one)]); };
  return job.gpu_job ? share(TimeClass::kCompute) + share(TimeClass::kMemory) : rank.own() - share(TimeClass::kIdle);
}

}  // namespace

std::optional<StageBalance> stage_balance(const Job& job, const Peers& peers) {
  const bool one_device = std::all_of(job.ranks.begin(), job.ranks.end(),
                                      [&](const RankFacts& rank) { return rank.device == job.ranks.front().device; });
  if (peers.stages < 2 || !one_device) return std::nullopt;
  std::vector<double> usual(static_cast<size_t>(peers.stages));
  std::vector<double> spread(usual.size());
  for (const PeerSet& set : peers.sets) {
    std::vector<double> work;
    work.reserve(set.ranks.size());
    for (const uint32_t rank : set.ranks) work.push_back(own_work(job, job.ranks[rank]));
    const auto stage = static_cast<size_t>(set.stage);
    usual[stage] = std::max(usual[stage], median(work));
    const auto [least, most] = std::minmax_element(work.begin(), work.end());
    spread[stage] = std::max(spread[stage], *most - *least);
  }
  const auto top = std::max_element(usual.begin(), usual.end());
  StageBalance balance;
  balance.longest = static_cast<int32_t>(top - usual.begin());
  for (const double stage : usual) balance.mean += stage / static_cast<double>(usual.size());
  balance.excess = *top - balance.mean;
  balance.spread = spread[static_cast<size_t>(balance.longest)];
  return balance;
}

}  // namespace eroica
