#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/comparison.h"
#include "compare/kernel_speed.h"
#include "diagnose/function_matcher.h"
#include "diagnose/observation.h"

namespace eroica {

/// Answers what a rule asks about ranks: the facts of docs/rules.md and the signals of docs/signals.md.
class Facts {
 public:
  /// `baseline` may be absent. All arguments must outlive the object.
  Facts(const Comparison& now, const Comparison* baseline);

  /// Absent: cannot be told here (no samples, nobody to compare with, no baseline).
  std::optional<SeenFact> observe(const EvidenceRule& evidence, const Candidate& candidate);

  /// Entities of a signal for which the evidence's bounds hold, each against all other entities of its kind.
  std::vector<uint32_t> entities_where(const EvidenceRule& evidence);
  /// Was the metric sampled at all, on entities of that kind?
  [[nodiscard]] bool is_sampled(const EvidenceRule& evidence) const;

  /// Critical share of the functions that `expression` selects, by rank.
  std::vector<double> function_share(const std::string& expression);
  /// kernel_excess_shares of the window, by rank.
  const std::vector<double>& kernel_excess(KernelClass which);
  /// Ranks whose labels (keys matching `expression`) differ from what most have; nothing where no value has a majority.
  /// With `other_half` of two equally common values the other one.
  std::vector<uint32_t> label_minority(const std::string& expression, bool other_half = false) const;

  [[nodiscard]] const Comparison& now() const { return *now_; }
  [[nodiscard]] const Comparison* baseline() const { return baseline_; }
  FunctionMatcher& matcher() { return matcher_; }

 private:
  std::optional<SeenFact> signal(const EvidenceRule& evidence, const Candidate& candidate);
  std::vector<const SignalValue*> values_to_ask(const Signal& signal, const Subject& subject);
  void index_entities();
  /// The mean of a rank's own signal; NaN: not sampled.
  double signal_of_rank(std::string_view metric, uint32_t rank);
  std::optional<SeenFact> use_by_kernels(const EvidenceRule& evidence, const Candidate& candidate);
  std::optional<SeenFact> time(std::string_view fact, const Candidate& candidate);
  std::optional<SeenFact> kernels(std::string_view fact, const Candidate& candidate);
  std::optional<SeenFact> work(std::string_view fact, const Candidate& candidate);
  std::optional<SeenFact> function(std::string_view fact, const EvidenceRule& evidence, const Candidate& candidate);
  std::optional<SeenFact> transfer(std::string_view fact, const Candidate& candidate);
  std::optional<SeenFact> label(const EvidenceRule& evidence, const Candidate& candidate);
  [[nodiscard]] std::optional<SeenFact> blocked(std::string_view fact, const Candidate& candidate) const;
  std::optional<SeenFact> from_baseline(std::string_view fact, const EvidenceRule& evidence);
  std::optional<SeenFact> other(std::string_view fact, const Candidate& candidate);

  const Comparison* now_;
  const Comparison* baseline_;
  FunctionMatcher matcher_;
  std::unordered_map<std::string, std::vector<double>> function_shares_;
  std::map<KernelClass, std::vector<double>> kernel_excess_;
  std::vector<uint32_t> entities_begin_;     // of each rank, in entities_of_ranks_; lazily, for very large jobs
  std::vector<uint32_t> entities_of_ranks_;  // in Job::entities
};

/// Regular expression for the keys of the labels that a fact about labels means.
std::string label_keys(const EvidenceRule& evidence);

/// Entities of one kind ("gpu", "nic" …; empty: any) that a signal has.
bool is_of_kind(const Entity& entity, std::string_view kind);
double figure(const SignalValue& value, Statistic statistic);

}  // namespace eroica
