#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/facts.h"
#include "diagnose/observation.h"

namespace eroica {

/// One piece of a rule's evidence as it was found.
struct Finding {
  const EvidenceRule* evidence = nullptr;
  Judgement verdict = Judgement::kUnknown;
  std::optional<SeenFact> seen;  ///< absent: cannot be told here
};

/// A rule that holds for a candidate.
struct Match {
  explicit Match(Candidate of_candidate) : candidate(std::move(of_candidate)) {}

  Candidate candidate;
  std::vector<Finding> findings;
  double confidence = 0;
  std::vector<std::string> why;  ///< what made it sure or unsure, in words
};

/// Why a rule says nothing of the job although its time classes are affected.
struct Rejection {
  const Rule* rule = nullptr;
  std::string reason;  ///< with the figures; or which signal was not sampled
  bool signal_missing = false;
  std::string metric;
};

struct Evaluation {
  std::vector<Match> matches;
  std::optional<Rejection> rejection;  ///< where nothing matched
};

/// Tries a rule on all its candidates.
Evaluation evaluate(const Rule& rule, Facts& facts);

/// "gpu.throttle_thermal 0.59 (peers 0)".
std::string in_words(const Finding& finding);

}  // namespace eroica
