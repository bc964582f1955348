#include "compare/subject.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr size_t kMostAsked = 64;    // members of a subject
constexpr size_t kMostPeers = 1024;  // of a peer set

}  // namespace

Subject::Subject(std::vector<uint32_t> ranks, size_t job_size) : ranks_(std::move(ranks)), is_member_(job_size) {
  for (const uint32_t rank : ranks_) is_member_[rank] = true;
}

std::vector<uint32_t> Subject::sample(size_t most) const {
  if (ranks_.size() <= most) return ranks_;
  std::vector<uint32_t> chosen;
  chosen.reserve(most);
  for (size_t i = 0; i < most; ++i) chosen.push_back(ranks_[i * ranks_.size() / most]);
  return chosen;
}

std::vector<double> values_outside(const PeerSet& set, const Subject& subject,
                                   const std::function<double(uint32_t)>& value_of) {
  std::vector<double> values;
  const size_t stride = std::max<size_t>(1, set.ranks.size() / kMostPeers);
  for (size_t i = 0; i < set.ranks.size(); i += stride) {
    if (subject.contains(set.ranks[i])) continue;
    const double value = value_of(set.ranks[i]);
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

std::optional<Contrast> contrast(const Subject& subject, const Peers& peers,
                                 const std::function<double(uint32_t)>& value_of) {
  Contrast result;
  std::vector<double> members;
  std::vector<uint32_t> sets;
  for (const uint32_t rank : subject.sample(kMostAsked)) {
    const double value = value_of(rank);
    if (std::isnan(value)) continue;
    members.push_back(value);
    sets.push_back(peers.set_of[rank]);
  }
  if (members.empty()) return std::nullopt;
  result.value = subject.is_all()
                     ? median(members)
                     : std::accumulate(members.begin(), members.end(), 0.0) / static_cast<double>(members.size());

  std::vector<uint32_t> asked = sets;
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  double weighted_median = 0;
  double weighted_mad = 0;
  size_t weight = 0;
  for (const uint32_t set : asked) {
    const std::vector<double> values = values_outside(peers.sets[set], subject, value_of);
    if (values.empty()) continue;
    const auto share = static_cast<size_t>(std::count(sets.begin(), sets.end(), set));
    weighted_median += median(values) * static_cast<double>(share);
    weighted_mad += median_absolute_deviation(values) * static_cast<double>(share);
    weight += share;
    result.peers += values.size();
  }
  if (weight > 0) {
    result.peers_median = weighted_median / static_cast<double>(weight);
    result.peers_mad = weighted_mad / static_cast<double>(weight);
  }
  return result;
}

}  // namespace eroica
