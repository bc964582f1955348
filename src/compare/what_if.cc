#include "compare/what_if.h"

#include <algorithm>
#include <numeric>

#include "base/robust.h"

namespace eroica {

StepModel::StepModel(const Job& job, const Peers& peers) : job_(&job), peers_(&peers) {
  own_.reserve(job.ranks.size());
  for (const RankFacts& rank : job.ranks) own_.push_back(rank.own());
  actual_ = path(own_);
}

double StepModel::path(const std::vector<double>& own) const {
  std::vector<double> stage(static_cast<size_t>(std::max(peers_->stages, 1)), 0.0);
  for (const PeerSet& set : peers_->sets) {
    double& slowest = stage[std::min(static_cast<size_t>(set.stage), stage.size() - 1)];
    for (const uint32_t rank : set.ranks) slowest = std::max(slowest, own[rank]);
  }
  const double longest = *std::max_element(stage.begin(), stage.end());
  if (stage.size() == 1) return longest;
  const double sum = std::accumulate(stage.begin(), stage.end(), 0.0);
  return ((peers_->micro_batches - 1) * longest + sum) / peers_->micro_batches;
}

double StepModel::own_share(const std::vector<double>& saved) const {
  std::vector<double> own = own_;
  for (size_t i = 0; i < own.size(); ++i) own[i] -= saved[i];
  return path(own);
}

double StepModel::lost_ms(const std::vector<double>& saved) const {
  // What an unobserved rank would save is time that it is thought to have taken beyond its peers'.
  std::vector<double> with = own_;
  std::vector<double> without = own_;
  for (size_t i = 0; i < own_.size(); ++i) {
    if (job_->ranks[i].observed) {
      without[i] -= saved[i];
    } else {
      with[i] += saved[i];
    }
  }
  return std::max(0.0, path(with) - path(without)) * job_->step_ms;
}

double StepModel::ratio_to(double other, double saved_beside) const {
  const double without = 1 - (actual_ - other) - saved_beside;
  return without > 0.01 ? std::max(1.0, 1 / without) : 1.0;
}

double StepModel::slowdown() const {
  std::vector<double> own(own_.size());
  for (const PeerSet& set : peers_->sets) {
    std::vector<double> values;
    values.reserve(set.ranks.size());
    for (const uint32_t rank : set.ranks) values.push_back(own_[rank]);
    const double usual = median(values);
    for (const uint32_t rank : set.ranks) own[rank] = usual;
  }
  return ratio_to(path(own));
}

double StepModel::slowdown_even(const EvenSavings& more) const {
  if (own_.empty()) return 1;
  const double mean = std::accumulate(own_.begin(), own_.end(), 0.0) / static_cast<double>(own_.size());
  return ratio_to(path(std::vector<double>(own_.size(), mean)), more.between_steps + more.transfers);
}

}  // namespace eroica
