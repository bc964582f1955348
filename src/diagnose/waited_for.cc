#include "diagnose/waited_for.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr double kLeastOfStep = 0.01;
constexpr double kLeastOverPeers = 2;

struct Late {
  double ms_per_step = 0;
  double error_ms_per_step = 0;
};

std::map<int32_t, Late> late_by_rank(const std::vector<JoinedCollective>& joined) {
  std::map<int32_t, Late> late;
  for (const JoinedCollective& one : joined) {
    if (!one.is_telling() || !one.whole) continue;
    for (const JoinedMember& member : one.members) {
      const double ms_per_us = 1e-3 * member.per_step;
      Late& sum = late[member.rank];
      sum.ms_per_step += member.late_us * ms_per_us;
      sum.error_ms_per_step += one.error_us * ms_per_us;
    }
  }
  return late;
}

void add_evidence(Diagnosis& diagnosis, const std::map<int32_t, Late>& late, double step_ms) {
  if (diagnosis.ranks.empty() || diagnosis.ranks.size() >= late.size()) return;
  double sum_ms = 0;
  double error_ms = 0;
  std::vector<double> others_ms;
  std::vector<int32_t> told;
  for (const auto& [rank, one] : late) {
    if (!std::ranges::binary_search(diagnosis.ranks, rank)) {
      others_ms.push_back(one.ms_per_step);
      continue;
    }
    told.push_back(rank);
    sum_ms += one.ms_per_step;
    error_ms = std::max(error_ms, one.error_ms_per_step);
  }
  if (told.empty() || others_ms.empty()) return;
  const double mean_ms = sum_ms / static_cast<double>(told.size());
  const double usual_ms = median(others_ms);
  if (mean_ms < std::max(error_ms, kLeastOfStep * step_ms) || mean_ms < kLeastOverPeers * usual_ms) return;
  diagnosis.evidence.push_back({.what = "later in the same collectives than their other members, a step",
                                .value = mean_ms,
                                .unit = "ms",
                                .peers_median = usual_ms,
                                .peers_mad = median_absolute_deviation(others_ms),
                                .ranks = std::move(told)});
}

}  // namespace

void tell_who_was_waited_for(Conclusion& conclusion) {
  const double step_ms = conclusion.what_if.step_ms;
  if (step_ms <= 0 || conclusion.blocked) return;
  const std::map<int32_t, Late> late = late_by_rank(conclusion.joined);
  for (std::vector<Diagnosis>* statements : {&conclusion.diagnoses, &conclusion.hints}) {
    for (Diagnosis& diagnosis : *statements) add_evidence(diagnosis, late, step_ms);
  }
}

}  // namespace eroica
