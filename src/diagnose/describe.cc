#include "diagnose/describe.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/rank_list.h"
#include "base/words.h"
#include "compare/function_excess.h"
#include "diagnose/candidates.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

constexpr size_t kMostAlternatives = 6;
constexpr size_t kMostEvidence = 10;
constexpr size_t kMostComponents = 4;

std::vector<int32_t> rank_numbers(const Job& job, const Subject& subject) {
  std::vector<int32_t> ranks;
  ranks.reserve(subject.ranks().size());
  for (const uint32_t rank : subject.ranks()) ranks.push_back(job.ranks[rank].rank);
  return ranks;
}

std::vector<std::string> hosts_of(const Job& job, const Subject& subject) {
  std::set<std::string> hosts;
  for (const uint32_t rank : subject.ranks()) {
    if (job.ranks[rank].host != 0) hosts.insert(job.words[job.ranks[rank].host]);
  }
  return {hosts.begin(), hosts.end()};
}

std::string component_of(const Match& match, const Job& job, const std::vector<int32_t>& ranks) {
  const std::string& kind = match.candidate.rule->component;
  if (kind.empty()) return {};
  std::vector<std::string> entities;
  for (const uint32_t entity : match.candidate.entities) {
    if (is_of_kind(job.entities[entity], kind)) entities.push_back(job.entities[entity].text);
  }
  if (entities.empty()) {
    for (const Entity& entity : job.entities) {
      if (is_of_kind(entity, kind) && !entity.ranks.empty() &&
          std::all_of(entity.ranks.begin(), entity.ranks.end(),
                      [&](uint32_t rank) { return match.candidate.subject.contains(rank); })) {
        entities.push_back(entity.text);
      }
    }
  }
  if (entities.empty() && !ranks.empty() && !match.candidate.subject.is_all()) {
    if (kind == "cgroup") {
      for (const int32_t rank : ranks) entities.push_back(fmt::format("rank {}/cgroup", rank));
    } else if (kind == "rank") {
      for (const int32_t rank : ranks) entities.push_back(fmt::format("rank {}", rank));
    } else if (kind == "host") {
      for (const std::string& host : hosts_of(job, match.candidate.subject)) entities.push_back("host " + host);
    }
  }
  return some_of(entities, kMostComponents);
}

FunctionRef reference_to(const FunctionExcess& function, const Job& job, const NameTable& names) {
  FunctionRef result;
  const JobFunction& of = job.functions[function.function];
  result.kind = function_kind_name(of.kind);
  const auto name = names.find(of.hash);
  if (name == names.end()) return result;
  result.name = name->second.text;
  result.file = name->second.file;
  result.path = name->second.path;
  result.line = function.line;
  if (result.file.empty() && function.issuer != 0) {
    const auto issuer = names.find(job.functions[function.issuer - 1].hash);
    if (issuer != names.end()) {
      result.file = issuer->second.file;
      result.line = function.issuer_line;
      result.path = issuer->second.path;
      result.path.push_back(issuer->second.file.empty() ? issuer->second.text
                                                        : issuer->second.file + ": " + issuer->second.text);
    }
  }
  return result;
}

FunctionRef reference_to(const UserFunction& function) {
  FunctionRef result;
  result.name = function.name;
  result.kind = function_kind_name(FunctionKind::kPython);
  result.file = function.file;
  result.line = function.line;
  result.path = function.path;
  return result;
}

bool is_class_of(FunctionKind kind, const std::vector<TimeClass>& classes) {
  const auto has = [&](TimeClass one) { return std::find(classes.begin(), classes.end(), one) != classes.end(); };
  switch (kind) {
    case FunctionKind::kCompute:
      return has(TimeClass::kCompute);
    case FunctionKind::kMemory:
      return has(TimeClass::kMemory);
    case FunctionKind::kCollective:
      return has(TimeClass::kCommunication);
    case FunctionKind::kFetch:
      return has(TimeClass::kDataloader);
    case FunctionKind::kPython:
      return has(TimeClass::kPython) || has(TimeClass::kDataloader) || has(TimeClass::kSync);
    case FunctionKind::kOperator:
    case FunctionKind::kRuntime:
      return has(TimeClass::kLaunch);
    case FunctionKind::kSync:
      return has(TimeClass::kSync);
  }
  return false;
}

// The function that shows the cause: what the rule's own expression selects, else the user's code where Python is
// affected, else what exceeds its peers most.
std::optional<FunctionRef> function_of(const Match& match, Facts& facts) {
  const Comparison& now = facts.now();
  const Job& job = *now.job;
  const Rule& rule = *match.candidate.rule;
  std::vector<FunctionExcess> functions = function_excess(job, now.index, now.peers, match.candidate.subject);
  const bool by_share = match.candidate.subject.is_all() || rule.subject == SubjectBy::kStage;
  if (by_share) {
    std::stable_sort(functions.begin(), functions.end(),
                     [](const FunctionExcess& a, const FunctionExcess& b) { return a.share > b.share; });
  }
  std::vector<FunctionExcess> selected;
  for (const EvidenceRule& evidence : rule.evidence) {
    if (!selected.empty() || evidence.function.empty() || !evidence.fact.starts_with("function.") ||
        evidence.need == Need::kContradicts) {
      continue;
    }
    const std::vector<bool>& matching = facts.matcher().matching(evidence.function);
    for (const FunctionExcess& function : functions) {
      if (matching[function.function] && function.share > 0) selected.push_back(function);
    }
  }
  if (!selected.empty()) return reference_to(selected.front(), job, *now.names);
  const std::vector<TimeClass> classes = affected_classes(rule, job);
  const bool of_user_python = match.candidate.subject.is_all() &&
                              std::any_of(rule.evidence.begin(), rule.evidence.end(), [](const EvidenceRule& evidence) {
                                return evidence.fact == "function.user_share";
                              });
  for (const FunctionExcess& function : functions) {
    const bool other_kernel =
        job.functions[function.function].kind == FunctionKind::kCompute && job.gpu_job && rule.kernels.size() == 1 &&
        rule.kernels.front() != "any" &&
        (rule.kernels.front() == "gemm") != (job.functions[function.function].workload == Workload::kMatrix);
    if (other_kernel) continue;
    const bool counts = of_user_python ? is_user_python(job, function.function, function.issuer)
                                       : is_class_of(job.functions[function.function].kind, classes);
    if (counts) selected.push_back(function);
  }
  if (selected.empty()) return std::nullopt;
  const FunctionExcess& first = selected.front();
  const FunctionKind kind = job.functions[first.function].kind;
  const bool host_work = kind == FunctionKind::kPython || kind == FunctionKind::kFetch ||
                         kind == FunctionKind::kOperator || kind == FunctionKind::kRuntime ||
                         (kind == FunctionKind::kCompute && !job.gpu_job);
  if (host_work) {
    if (const auto user = blame_user_function(job, *now.names, selected, by_share)) {
      const double most = by_share ? first.share : first.excess;
      const double theirs = by_share ? user->share : user->excess;
      if (of_user_python || kind != FunctionKind::kCompute || theirs > 1.5 * most) return reference_to(*user);
    }
  }
  return reference_to(first, job, *now.names);
}

Evidence evidence_of(const Finding& finding, const std::vector<int32_t>& ranks) {
  Evidence evidence;
  evidence.what = finding.evidence->says.empty() ? finding.evidence->fact : finding.evidence->says;
  evidence.value = finding.seen->value;
  if (const KnownFact* known = find_fact(finding.evidence->fact)) {
    evidence.unit = finding.evidence->statistic == Statistic::kVariation ? "ratio" : known->unit;
  }
  evidence.peers_median = finding.seen->peers_median;
  if (finding.seen->peers_median) evidence.peers_mad = finding.seen->peers_mad;
  evidence.ranks = ranks;
  return evidence;
}

// From the weight of evidence to the share of cases that are right, as measured on the benchmark's 1,060 calibration
// jobs (docs/benchmark.md). Claims are right more often than rules dare to say: where the weight is one half, in seven
// of eight cases. What is left as a hint, beside a claim or because something speaks against it, seldom is.
double calibrated(double weight) {
  if (weight < kClaimConfidence) return kClaimConfidence * std::pow(weight / kClaimConfidence, 5);
  const double doubt = (1 - weight) / (1 - kClaimConfidence);
  return std::min(0.99, 1 - 0.14 * doubt * std::sqrt(doubt));
}

std::string in_words(std::span<const int32_t> ranks) { return ranks.empty() ? "all ranks" : rank_list(ranks); }

std::string strongest_contradiction(const Match& match) {
  for (const Finding& finding : match.findings) {
    if (finding.evidence->need == Need::kContradicts && finding.verdict == Judgement::kHolds) return in_words(finding);
  }
  for (const Finding& finding : match.findings) {
    if (finding.evidence->need == Need::kSupports && finding.verdict == Judgement::kFails) {
      return "not seen: " + in_words(finding);
    }
  }
  return "explains it less well";
}

}  // namespace

std::string in_words(const FunctionRef& function) {
  if (function.file.empty()) return function.name;
  return fmt::format("{} ({}{})", function.name, function.file,
                     function.line > 0 ? ":" + std::to_string(function.line) : "");
}

std::string fill_in(const std::string& sentence, const Diagnosis& diagnosis, const Match& match, double step_ms) {
  std::string value = "?";
  std::string peers = "?";
  for (const Finding& finding : match.findings) {
    if (!is_needed(*finding.evidence) || finding.verdict != Judgement::kHolds || !finding.seen) continue;
    const KnownFact* known = find_fact(finding.evidence->fact);
    const std::string_view unit = known != nullptr ? known->unit : "";
    const auto amount = [&](double x) { return amount_text(x, unit); };
    value = amount(finding.seen->value);
    if (finding.seen->peers_median) peers = amount(*finding.seen->peers_median);
    break;
  }
  const std::string lost = step_ms > 0
                               ? fmt::format("{:.3g} ms of {:.4g} ms a step ({:.0f} %)", diagnosis.lost_ms_per_step,
                                             step_ms, 100 * diagnosis.lost_ms_per_step / step_ms)
                               : fmt::format("{:.3g} ms a step", diagnosis.lost_ms_per_step);
  const std::string function = diagnosis.function ? in_words(*diagnosis.function) : "the function";
  const std::pair<std::string_view, std::string> words[] = {
      {"{ranks}", in_words(diagnosis.ranks)},
      {"{hosts}", diagnosis.hosts.empty() ? "the host" : some_of(diagnosis.hosts, kMostComponents)},
      {"{component}", diagnosis.component.empty() ? in_words(diagnosis.ranks) : diagnosis.component},
      {"{value}", value},
      {"{peers}", peers},
      {"{function}", function},
      {"{lost}", lost}};
  std::string text = sentence;
  for (const auto& [placeholder, word] : words) fill_placeholder(text, placeholder, word);
  return text;
}

Diagnosis describe(const Selected& selected, std::span<const Rejection> rejections, Facts& facts) {
  const Match& match = selected.match;
  const Rule& rule = *match.candidate.rule;
  const Job& job = *facts.now().job;
  Diagnosis diagnosis;
  diagnosis.cause = rule.cause;
  diagnosis.title = rule.title;
  diagnosis.action = rule.action;
  diagnosis.confidence = calibrated(match.confidence);
  diagnosis.confidence_why = match.why;
  const bool all = match.candidate.subject.is_all() && rule.subject != SubjectBy::kStage;
  diagnosis.scope = all && rule.scope != Scope::kLink ? Scope::kAll : rule.scope;
  diagnosis.ranks = all && (rule.subject == SubjectBy::kAll || rule.subject == SubjectBy::kMoving || rule.also_all) &&
                            match.candidate.entities.empty()
                        ? std::vector<int32_t>()
                        : rank_numbers(job, match.candidate.subject);
  const bool of_host = rule.scope != Scope::kRanks || rule.component == "nic" || rule.component == "host" ||
                       rule.component == "disk" || rule.component == "gpu" || rule.component == "cpu";
  if (of_host && !diagnosis.ranks.empty()) diagnosis.hosts = hosts_of(job, match.candidate.subject);
  diagnosis.component = component_of(match, job, diagnosis.ranks);
  diagnosis.function = function_of(match, facts);
  for (const Need need : {Need::kRequired, Need::kAny, Need::kSupports}) {
    for (const Finding& finding : match.findings) {
      // Evidence without weight only says where the rule applies.
      if (finding.evidence->weight > 0 && finding.evidence->need == need && finding.verdict == Judgement::kHolds &&
          finding.seen && diagnosis.evidence.size() < kMostEvidence) {
        diagnosis.evidence.push_back(evidence_of(finding, diagnosis.ranks));
      }
    }
  }
  for (const Match& other : selected.alternatives) {
    if (diagnosis.alternatives.size() == kMostAlternatives) break;
    const std::string& cause = other.candidate.rule->cause;
    const bool named =
        cause == rule.cause || std::any_of(diagnosis.alternatives.begin(), diagnosis.alternatives.end(),
                                           [&](const Alternative& alternative) { return alternative.cause == cause; });
    if (!named) diagnosis.alternatives.push_back({cause, other.confidence, strongest_contradiction(other)});
  }
  const std::vector<TimeClass> classes = affected_classes(rule, job);
  // Missing signals first: they could change the answer.
  for (const bool missing : {true, false}) {
    for (const Rejection& rejection : rejections) {
      if (diagnosis.alternatives.size() == kMostAlternatives) break;
      if (rejection.signal_missing != missing) continue;
      const std::vector<TimeClass> theirs = affected_classes(*rejection.rule, job);
      const bool same = std::any_of(theirs.begin(), theirs.end(), [&](TimeClass one) {
        return std::find(classes.begin(), classes.end(), one) != classes.end();
      });
      if (same && rejection.rule->cause != rule.cause) {
        diagnosis.alternatives.push_back({rejection.rule->cause, 0, rejection.reason});
      }
    }
  }
  return diagnosis;
}

}  // namespace eroica
