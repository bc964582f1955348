#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/subject.h"
#include "diagnose/rule.h"

namespace eroica {

/// Ranks that a rule may blame, and what they would gain without its cause.
struct Candidate {
  Candidate(const Rule* of_rule, Subject of_subject) : rule(of_rule), subject(std::move(of_subject)) {}

  const Rule* rule;
  Subject subject;
  std::vector<uint32_t> entities;  ///< in Job::entities, for which the rule's signal stands out; may be empty
  std::vector<double> saved;       ///< by rank: share of the window without the cause; 0 outside the subject
  double communication_saved = 0;  ///< share of the window that transfers would be shorter, for everybody
  bool effect_measured = true;     ///< false: nobody to compare with; the effect is an upper bound
  double effect = 0;               ///< share of the step, mean over the subject
  double explained = 1;            ///< part of the subject's excess that the rule's own signal accounts for
};

/// One fact as it was seen on a candidate.
struct SeenFact {
  double value = 0;
  std::optional<double> peers_median;
  double peers_mad = 0;
  std::optional<double> baseline;
  std::string entity;  ///< that shows it most, where it is an entity's
};

enum class Judgement : uint8_t { kHolds, kFails, kUnknown };

/// Do all bounds hold? Unknown where none fails but one needs peers or a baseline that are not there.
Judgement judge(const Bounds& bounds, const SeenFact& observation);

/// What a rule's piece of evidence looks for: larger values, or smaller ones.
bool looks_for_more(const Bounds& bounds);

}  // namespace eroica
