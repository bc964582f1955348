#include "diagnose/losses.h"

#include <algorithm>

#include "diagnose/candidates.h"

namespace eroica {
namespace {

constexpr double kWorthNaming = 0.002;  // of a step
constexpr double kDoubt = 0.4;

}  // namespace

std::vector<double> saved_together(const Job& job, const std::vector<Selected>& claims, const Selected* but) {
  struct SameTime {
    std::vector<const Rule*> rules;
    std::vector<double> saved;
  };
  std::vector<SameTime> kinds;
  for (const Selected& claim : claims) {
    if (&claim == but) continue;
    const Candidate& candidate = claim.match.candidate;
    auto kind = std::ranges::find_if(kinds, [&](const SameTime& known) {
      return std::ranges::any_of(known.rules,
                                 [&](const Rule* rule) { return share_classes(*rule, *candidate.rule, job); });
    });
    if (kind == kinds.end()) kind = kinds.insert(kind, {{}, std::vector<double>(job.ranks.size())});
    kind->rules.push_back(candidate.rule);
    for (size_t i = 0; i < kind->saved.size(); ++i) kind->saved[i] = std::max(kind->saved[i], candidate.saved[i]);
  }
  std::vector<double> saved(job.ranks.size());
  for (const SameTime& kind : kinds) {
    for (size_t i = 0; i < saved.size(); ++i) saved[i] = std::min(1.0, saved[i] + kind.saved[i]);
  }
  return saved;
}

double lost_ms(const Comparison& now, const std::vector<Selected>& claims, const Selected& claim, double joint_ms) {
  const double own = joint_ms - now.model.lost_ms(saved_together(*now.job, claims, &claim));
  return std::min(std::max(0.0, own) + claim.match.candidate.communication_saved * now.job->step_ms, now.job->step_ms);
}

void doubt_costless(const Comparison& now, std::vector<Selected>& claims, std::vector<Selected>& hints) {
  while (claims.size() > 1) {
    const double joint_ms = now.model.lost_ms(saved_together(*now.job, claims));
    auto least_sure = claims.end();
    for (auto claim = claims.begin(); claim != claims.end(); ++claim) {
      if (lost_ms(now, claims, *claim, joint_ms) >= kWorthNaming * now.job->step_ms) continue;
      if (least_sure == claims.end() || claim->match.confidence < least_sure->match.confidence) least_sure = claim;
    }
    if (least_sure == claims.end()) return;
    Selected costless = std::move(*least_sure);
    claims.erase(least_sure);
    costless.match.confidence *= kDoubt;
    costless.match.why.emplace_back("without the other causes it would cost nothing");
    hints.push_back(std::move(costless));
  }
}

}  // namespace eroica
