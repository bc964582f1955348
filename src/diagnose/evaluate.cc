#include "diagnose/evaluate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/robust.h"
#include "compare/subject.h"
#include "compare/unobserved.h"
#include "diagnose/candidates.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

// How evidence moves confidence c: what supports takes away a part of the doubt 1 − c, what fails to support a small
// part of c, what contradicts a large one.
constexpr double kSupport = 0.35;
constexpr double kNoSupport = 0.1;
constexpr double kContradiction = 0.45;
constexpr double kLeastAfterContradiction = 0.1;
constexpr double kUnmeasured = 0.85;
constexpr double kNoPeers = 0.75;
constexpr double kOnePeer = 0.8;
constexpr double kUncertainPeers = 0.8;
constexpr double kSmallEffect = 0.5;
constexpr double kPartOfLeastEffect = 0.5;  // less is not even a hint
constexpr double kErrors = 3;
constexpr double kFewStepsSeen = 0.6;
constexpr double kMostOfIt = 0.6;
constexpr double kExplainsPart = 0.5;
constexpr double kWithinError = 0.5;
constexpr double kMostOfEverybody = 0.45;  // a hint
constexpr double kUnsampled = 0.04;        // for each contradiction that nobody could see
constexpr double kLeastUnsampled = 0.8;
constexpr double kErrorOfOneStep = 0.08;
constexpr double kErrorOfFewSteps = 0.08;  // a single step of a healthy rank may take twice its time
constexpr size_t kFewSteps = 5;

// Peers outside the subject, over its peer sets.
size_t peers_outside(const Candidate& candidate, const Peers& peers) {
  size_t outside = 0;
  std::vector<bool> counted(peers.sets.size());
  for (const uint32_t rank : candidate.subject.ranks()) {
    const uint32_t set = peers.set_of[rank];
    if (counted[set]) continue;
    counted[set] = true;
    for (const uint32_t other : peers.sets[set].ranks) outside += candidate.subject.contains(other) ? 0 : 1;
  }
  return outside;
}

bool by_comparison(const Rule& rule) {
  return rule.subject == SubjectBy::kTime || rule.subject == SubjectBy::kFunction;
}

// How far the means of ranks that do the same may lie apart by chance, as share of a step: every peer's own steps vary,
// and few of them make an uncertain mean.
double comparison_error(const Comparison& now, const Candidate& candidate) {
  const Job& job = *now.job;
  // Hosts that run ahead of their devices end steps at odd times: their steps vary, their means do not.
  if (job.gpu_job) return 0;
  std::vector<double> errors;
  for (const uint32_t rank : candidate.subject.sample(4)) {
    for (const uint32_t peer : now.peers.sets[now.peers.set_of[rank]].ranks) {
      if (errors.size() >= 64) break;
      std::vector<double> shares;
      for (const StepFacts& step : job.steps_of(job.ranks[peer])) {
        if (step.regular && step.duration_ms > 0) shares.push_back(step.own_ms / step.duration_ms);
      }
      if (shares.size() < 2) {
        errors.push_back(kErrorOfOneStep);
        continue;
      }
      const double deviation = 1.4826 * median_absolute_deviation(shares);
      errors.push_back(std::max(deviation, shares.size() < kFewSteps ? kErrorOfFewSteps : 0.0) /
                       std::sqrt(static_cast<double>(shares.size())));
    }
  }
  return median(errors);
}

// What all ranks show is judged by what a step usually is.
bool few_steps(const Job& job) {
  return std::all_of(job.ranks.begin(), job.ranks.end(), [](const RankFacts& rank) { return rank.steps < 3; });
}

void weigh(const Finding& finding, double& confidence, std::vector<std::string>& why) {
  const EvidenceRule& evidence = *finding.evidence;
  if (finding.verdict == Judgement::kUnknown) return;
  const bool holds = finding.verdict == Judgement::kHolds;
  if (evidence.need == Need::kSupports || evidence.need == Need::kAny) {
    if (holds) {
      confidence += (1 - confidence) * (1 - std::pow(1 - kSupport, evidence.weight));
    } else if (evidence.need == Need::kSupports) {
      confidence *= 1 - std::min(0.5, kNoSupport * evidence.weight);
      why.push_back(fmt::format("not seen: {} ({})", evidence.says, in_words(finding)));
    }
  }
  if (evidence.need == Need::kContradicts && holds) {
    confidence *= std::max(kLeastAfterContradiction, 1 - kContradiction * evidence.weight);
    why.push_back(fmt::format("against it: {} ({})", evidence.says, in_words(finding)));
  }
}

bool is_within(const Match& part, const Match& whole) {
  return std::ranges::all_of(part.candidate.subject.ranks(),
                             [&](uint32_t rank) { return whole.candidate.subject.contains(rank); });
}

// Do the ranks of `whole` that are not of `part` lose time as well?
bool adds_losers(const Match& whole, const Match& part) {
  constexpr double kMuchLess = 0.25;
  const Candidate& all = whole.candidate;
  double inside = 0;
  double outside = 0;
  for (const uint32_t rank : all.subject.ranks()) {
    (part.candidate.subject.contains(rank) ? inside : outside) += all.saved[rank];
  }
  const auto members = static_cast<double>(part.candidate.subject.ranks().size());
  const double others = static_cast<double>(all.subject.ranks().size()) - members;
  return others <= 0 || outside / others >= kMuchLess * inside / members;
}

// Of what holds for several subjects together and for each of them: the parts where one is clearly surer than the
// whole, else the whole.
void keep_union_or_parts(std::vector<Match>& matches) {
  constexpr double kClearly = 0.08;
  if (matches.size() < 2 || matches.front().candidate.rule->subject != SubjectBy::kSignal) return;
  const bool of_ranks = matches.front().candidate.rule->scope == Scope::kRanks;
  const auto whole = std::max_element(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return a.candidate.subject.ranks().size() < b.candidate.subject.ranks().size();
  });
  const auto surest = std::max_element(matches.begin(), matches.end(),
                                       [](const Match& a, const Match& b) { return a.confidence < b.confidence; });
  if (!of_ranks) {
    // Several hosts show the signal, and not all of them for the rule's reason.
    const Match kept = surest->confidence > whole->confidence + kClearly ? *surest : *whole;
    if (surest->confidence > whole->confidence + kClearly) {
      std::erase_if(matches, [&](const Match& match) { return match.confidence < kept.confidence - kClearly; });
    } else {
      matches.assign(1, kept);
    }
    return;
  }
  // Signals of one rule may show different ranks, each a culprit of its own.
  const bool together = surest->confidence <= whole->confidence + kClearly && adds_losers(*whole, *surest);
  const Match kept = together ? *whole : *surest;
  std::erase_if(matches, [&](const Match& match) {
    if (match.candidate.subject.ranks() == kept.candidate.subject.ranks()) return false;
    if (is_within(match, kept)) return true;
    return is_within(kept, match) && (match.confidence < kClaimConfidence || !adds_losers(match, kept));
  });
}

// Of two halves of a job that differ from each other by a label, the one that costs more time is the odd one.
void keep_costlier_half(std::vector<Match>& matches) {
  if (matches.size() != 2 || matches.front().candidate.rule->subject != SubjectBy::kLabel) return;
  const Candidate& first = matches[0].candidate;
  const Candidate& second = matches[1].candidate;
  const bool overlap =
      std::ranges::any_of(first.subject.ranks(), [&](uint32_t rank) { return second.subject.contains(rank); });
  if (!overlap) matches.erase(matches.begin() + (second.effect > first.effect ? 0 : 1));
}

// Did a signal point at the subject, beside or instead of time?
bool shown_by_signal(const Match& match) {
  return std::any_of(match.findings.begin(), match.findings.end(), [](const Finding& finding) {
    return is_needed(*finding.evidence) && finding.verdict == Judgement::kHolds && is_signal(finding.evidence->fact);
  });
}

// Doubt because signals were not sampled that would speak against the rule if they could.
void doubt_unsampled(Match& match, const Job& job, double& confidence) {
  std::vector<std::string> missing;
  double weight = 0;
  for (const Finding& finding : match.findings) {
    const EvidenceRule& evidence = *finding.evidence;
    if (evidence.need != Need::kContradicts || finding.seen || !is_signal(evidence.fact)) continue;
    if (!job.gpu_job && evidence.fact.starts_with("gpu.")) continue;
    weight += evidence.weight;
    missing.push_back(evidence.fact);
  }
  if (missing.empty()) return;
  confidence *= std::max(kLeastUnsampled, 1 - kUnsampled * weight);
  match.why.push_back(fmt::format("not sampled, and could speak against it: {}", fmt::join(missing, ", ")));
}

// Doubts that hang on whom a subject was compared with.
void doubt_comparison(Match& match, const Comparison& now, double& confidence) {
  const size_t outside = peers_outside(match.candidate, now.peers);
  if (outside == 0) {
    confidence *= kNoPeers;
    match.why.emplace_back("no rank does the same work: there is nobody to compare with");
  } else if (outside == 1) {
    confidence *= kOnePeer;
    match.why.emplace_back("only one other rank does the same work: it may be the odd one");
  }
  if (!now.peers.certain) {
    confidence *= kUncertainPeers;
    match.why.emplace_back("no process group tells which ranks do the same work");
  }
  const double error = comparison_error(now, match.candidate);
  if (match.candidate.effect < kErrors * error) {
    confidence *= kWithinError;
    match.why.push_back(fmt::format("ranks that do the same vary by {:.1f} % of a step", 100 * error));
  }
}

// Ranks that labels tell apart were not found by their time: could time differ so by chance?
void doubt_chance(Match& match, const Comparison& now, double& confidence) {
  const Candidate& candidate = match.candidate;
  if (candidate.communication_saved > 0) return;
  const std::vector<TimeClass> classes = affected_classes(*candidate.rule, *now.job);
  std::vector<double> apart;  // of the others, from what is usual among them
  for (const PeerSet& set : now.peers.sets) {
    const std::vector<double> values =
        values_outside(set, candidate.subject, [&](uint32_t rank) { return own_share(now.job->ranks[rank], classes); });
    if (values.empty()) continue;
    const double usual = median(values);
    for (const double value : values) apart.push_back(std::abs(value - usual));
  }
  if (apart.empty()) return;
  const double spread = 1.4826 * median(apart);
  const double error = spread * std::sqrt(1 / static_cast<double>(candidate.subject.ranks().size()) +
                                          1 / static_cast<double>(apart.size()));
  if (candidate.effect >= kErrors * error) return;
  confidence *= kWithinError;
  match.why.push_back(fmt::format("ranks with the usual labels differ by {:.1f} % of a step as well", 100 * spread));
}

// Is there no like entity that does not show it?
bool is_everywhere(const Candidate& candidate, const Job& job) {
  std::set<EntityKind> kinds;
  for (const uint32_t entity : candidate.entities) kinds.insert(job.entities[entity].kind);
  for (uint32_t entity = 0; entity < job.entities.size(); ++entity) {
    const bool counts = kinds.contains(job.entities[entity].kind) && !job.entities[entity].ranks.empty();
    if (counts && !std::ranges::binary_search(candidate.entities, entity)) return false;
  }
  return true;
}

// How sure the evidence of a rule that holds makes one, and why.
double confidence_of(Match& match, const Comparison& now) {
  const Candidate& candidate = match.candidate;
  const Rule& rule = *candidate.rule;
  double confidence = rule.prior;
  bool first_any = true;
  for (const Finding& finding : match.findings) {
    // The first of the alternatives is what made the rule possible, as a required one is.
    if (finding.evidence->need == Need::kAny && finding.verdict == Judgement::kHolds && first_any) {
      first_any = false;
      continue;
    }
    weigh(finding, confidence, match.why);
  }
  doubt_unsampled(match, *now.job, confidence);
  if (candidate.effect < rule.least_effect) {
    confidence *= kSmallEffect;
    match.why.push_back(fmt::format("it explains only {:.1f} % of a step", 100 * candidate.effect));
  }
  if (!candidate.effect_measured) {
    confidence *= kUnmeasured;
    match.why.emplace_back(
        is_observed(candidate.subject, *now.job)
            ? "nobody shows what the step would be without it: the loss is an estimate"
            : "the rank wrote no trace: its samples speak, and the loss is at most what others wait");
  }
  const bool all = candidate.subject.is_all();
  if (by_comparison(rule) && !shown_by_signal(match) && !all) doubt_comparison(match, now, confidence);
  if (rule.subject == SubjectBy::kLabel) doubt_chance(match, now, confidence);
  if (all && few_steps(*now.job)) {
    confidence *= kFewStepsSeen;
    match.why.emplace_back("fewer than three whole steps were seen");
  }
  if (candidate.explained < kMostOfIt) {
    confidence *= kExplainsPart;
    match.why.push_back(fmt::format("it accounts for only {:.0f} % of the excess", 100 * candidate.explained));
  }
  if (all && !rule.also_all && rule.subject == SubjectBy::kSignal && is_everywhere(candidate, *now.job)) {
    confidence = std::min(confidence, kMostOfEverybody);
    match.why.emplace_back("it is the same everywhere: nothing shows that it could be otherwise");
  }
  return std::clamp(confidence, 0.0, 0.99);
}

// Asks for all evidence. What is returned, if anything, is why the rule says nothing of the candidate.
std::optional<Rejection> gather(Match& match, Facts& facts) {
  const Rule& rule = *match.candidate.rule;
  const Finding* first_any = nullptr;
  bool any_holds = false;
  match.findings.reserve(rule.evidence.size());
  for (const EvidenceRule& evidence : rule.evidence) {
    Finding& finding =
        match.findings.emplace_back(Finding{&evidence, Judgement::kUnknown, facts.observe(evidence, match.candidate)});
    if (finding.seen) finding.verdict = judge(evidence.bounds, *finding.seen);
    const bool holds = finding.verdict == Judgement::kHolds;
    if (evidence.need == Need::kRequired && !holds) return Rejection{&rule, in_words(finding), false, evidence.fact};
    if (evidence.need == Need::kAny) {
      if (first_any == nullptr) first_any = &finding;
      any_holds = any_holds || holds;
    }
  }
  if (first_any != nullptr && !any_holds) {
    return Rejection{&rule, in_words(*first_any), !first_any->seen.has_value(), first_any->evidence->fact};
  }
  if (match.candidate.effect < kPartOfLeastEffect * rule.least_effect) {
    return Rejection{&rule, fmt::format("it would explain {:.1f} % of a step at most", 100 * match.candidate.effect),
                     false, ""};
  }
  return std::nullopt;
}

}  // namespace

std::string in_words(const Finding& finding) {
  if (!finding.seen) return fmt::format("{} not sampled", finding.evidence->fact);
  std::string value = fmt::format("{} {:.3g}", finding.evidence->fact, finding.seen->value);
  if (!finding.seen->peers_median) return value;
  return fmt::format("{} (peers {:.3g})", value, *finding.seen->peers_median);
}

Evaluation evaluate(const Rule& rule, Facts& facts) {
  Evaluation result;
  for (const EvidenceRule& evidence : rule.evidence) {
    if (evidence.need == Need::kRequired && is_signal(evidence.fact) && !facts.is_sampled(evidence)) {
      result.rejection =
          Rejection{&rule, fmt::format("{} was not sampled: it would decide", evidence.fact), true, evidence.fact};
      return result;
    }
  }
  for (Candidate& candidate : find_candidates(rule, facts)) {
    Match match(std::move(candidate));
    if (auto rejection = gather(match, facts)) {
      if (!result.rejection) result.rejection = std::move(rejection);
      continue;
    }
    match.confidence = confidence_of(match, facts.now());
    result.matches.push_back(std::move(match));
  }
  keep_union_or_parts(result.matches);
  keep_costlier_half(result.matches);
  return result;
}

}  // namespace eroica
