#include "diagnose/diagnose.h"

#include <algorithm>
#include <set>

#include "diagnose/baseline_fit.h"
#include "diagnose/candidates.h"
#include "diagnose/describe.h"
#include "diagnose/diagnose_blocked.h"
#include "diagnose/evaluate.h"
#include "diagnose/facts.h"
#include "diagnose/losses.h"
#include "diagnose/select.h"
#include "diagnose/victims.h"
#include "diagnose/vocabulary.h"
#include "diagnose/waited_for.h"

namespace eroica {
namespace {

constexpr double kLeastHint = 0.15;  ///< by the weight of its evidence
constexpr double kLeastTold = 0.05;  ///< by what such hints have turned out to be
constexpr size_t kMostHints = 8;

// What the claims cost together and each for itself, in ms a step.
void count_losses(const Comparison& now, const std::vector<Selected>& claims, std::vector<Diagnosis>& diagnoses,
                  Conclusion& conclusion) {
  const Job& job = *now.job;
  double all_transfers = 0;
  for (const Selected& claim : claims) all_transfers += claim.match.candidate.communication_saved;
  const double joint_own = now.model.lost_ms(saved_together(job, claims));
  const double world = std::max<double>(static_cast<double>(job.ranks.size()), job.world_size);
  for (size_t c = 0; c < claims.size(); ++c) {
    const Candidate& candidate = claims[c].match.candidate;
    diagnoses[c].marginal_ms_per_step =
        now.model.lost_ms(candidate.saved) + candidate.communication_saved * job.step_ms;
    diagnoses[c].lost_ms_per_step = lost_ms(now, claims, claims[c], joint_own);
    if (job.step_ms > 0) {
      diagnoses[c].lost_gpu_seconds_per_hour = diagnoses[c].lost_ms_per_step / job.step_ms * 3600 * world;
    }
  }
  conclusion.what_if.slowdown = now.model.slowdown();
  EvenSavings more;
  more.transfers = transfers_beyond_shortest(now.transfers, job);
  for (const StepVariation& variation : now.variation) {
    more.between_steps = std::max(more.between_steps, variation.moving_share);
  }
  conclusion.what_if.slowdown_even = now.model.slowdown_even(more);
  conclusion.what_if.step_ms_without_findings = std::max(0.0, job.step_ms * (1 - all_transfers) - joint_own);
  conclusion.what_if.step_ms = job.step_ms;
}

// The same kernels with the same shapes take longer there.
bool shown_by_kernels(const Match& match) {
  return std::ranges::any_of(match.findings, [](const Finding& finding) {
    return is_needed(*finding.evidence) && finding.verdict == Judgement::kHolds &&
           finding.evidence->fact.starts_with("kernels.");
  });
}

// Beside a large culprit, ranks that are merely a little slower than the rest may suffer from it (on a shared machine)
// or from chance: without any evidence but their time they are hints.
void doubt_small_leftovers(std::vector<Selected>& selected) {
  constexpr double kSmall = 0.35;
  constexpr double kDoubt = 0.6;
  double largest = 0;
  for (const Selected& one : selected) {
    if (one.match.confidence >= kClaimConfidence) largest = std::max(largest, one.match.candidate.effect);
  }
  for (Selected& one : selected) {
    if (one.match.candidate.rule->subject != SubjectBy::kTime || one.match.candidate.subject.is_all()) continue;
    if (one.match.candidate.effect >= kSmall * largest || shown_by_kernels(one.match)) continue;
    one.match.confidence *= kDoubt;
    one.match.why.emplace_back("another cause is much larger, and nothing but time tells these ranks from the others");
  }
}

}  // namespace

Conclusion diagnose(const Comparison& now, const Comparison* baseline, std::span<const Rule> rules) {
  Conclusion conclusion;
  conclusion.joined = now.joined;
  const Job& job = *now.job;
  for (const PeerSet& set : now.peers.sets) {
    PeerGroup group{set.name, set.why, {}};
    for (const uint32_t rank : set.ranks) group.ranks.push_back(job.ranks[rank].rank);
    conclusion.peer_groups.push_back(std::move(group));
  }
  if (!now.peers.certain) {
    conclusion.notes.emplace_back("no process group tells which ranks do the same work; their functions had to");
  }
  if (baseline != nullptr) {
    const std::string misfit = misfit_of_baseline(job, *baseline->job);
    if (!misfit.empty()) {
      conclusion.notes.push_back("the baseline is of another kind of job and was not used: " + misfit);
      baseline = nullptr;
    }
  }
  Facts facts(now, baseline);
  if (now.blocked) {
    diagnose_blocked(facts, rules, conclusion);
    return conclusion;
  }
  std::vector<Match> matches;
  std::vector<Rejection> rejections;
  std::set<std::string> missing;
  for (const Rule& rule : rules) {
    Evaluation evaluation = evaluate(rule, facts);
    if (evaluation.matches.empty() && evaluation.rejection) {
      if (evaluation.rejection->signal_missing && is_signal(evaluation.rejection->metric)) {
        missing.insert(evaluation.rejection->metric);
      }
      rejections.push_back(std::move(*evaluation.rejection));
    }
    for (Match& match : evaluation.matches) matches.push_back(std::move(match));
  }
  conclusion.signals_missing.assign(missing.begin(), missing.end());

  std::vector<Selected> selected = select(std::move(matches), facts);
  doubt_small_leftovers(selected);
  std::vector<Selected> claims;
  std::vector<Selected> hints;
  for (Selected& one : selected) {
    (one.match.confidence >= kClaimConfidence ? claims : hints).push_back(std::move(one));
  }
  doubt_costless(now, claims, hints);
  std::erase_if(hints, [](const Selected& hint) { return hint.match.confidence < kLeastHint; });
  if (hints.size() > kMostHints) hints.erase(hints.begin() + kMostHints, hints.end());
  std::vector<Diagnosis> diagnoses;
  diagnoses.reserve(claims.size());
  for (const Selected& claim : claims) diagnoses.push_back(describe(claim, rejections, facts));
  count_losses(now, claims, diagnoses, conclusion);
  for (size_t i = 0; i < claims.size(); ++i) {
    diagnoses[i].summary = fill_in(claims[i].match.candidate.rule->say, diagnoses[i], claims[i].match, job.step_ms);
  }
  std::stable_sort(diagnoses.begin(), diagnoses.end(),
                   [](const Diagnosis& a, const Diagnosis& b) { return a.lost_ms_per_step > b.lost_ms_per_step; });
  for (const Selected& hint : hints) {
    Diagnosis diagnosis = describe(hint, rejections, facts);
    if (diagnosis.confidence < kLeastTold) continue;
    diagnosis.marginal_ms_per_step =
        now.model.lost_ms(hint.match.candidate.saved) + hint.match.candidate.communication_saved * job.step_ms;
    diagnosis.lost_ms_per_step = diagnosis.marginal_ms_per_step;
    diagnosis.summary = fill_in(hint.match.candidate.rule->say, diagnosis, hint.match, job.step_ms);
    conclusion.hints.push_back(std::move(diagnosis));
  }
  std::set<int32_t> culprits;
  for (const Diagnosis& diagnosis : diagnoses) culprits.insert(diagnosis.ranks.begin(), diagnosis.ranks.end());
  conclusion.victims = victims_of(job, culprits);
  conclusion.diagnoses = std::move(diagnoses);
  tell_who_was_waited_for(conclusion);
  return conclusion;
}

}  // namespace eroica
