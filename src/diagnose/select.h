#pragma once

#include <vector>

#include "diagnose/evaluate.h"

namespace eroica {

/// A match that is kept, with those that would explain the same time.
struct Selected {
  Match match;
  std::vector<Match> alternatives;  ///< surest first
};

/// Keeps the surest of the matches that explain the same ranks' time in the same classes. A rule that yields to
/// another one that holds for the same ranks becomes its alternative whatever its confidence. What is said of all
/// ranks stands beside what is said of some only if it also explains the others' time.
std::vector<Selected> select(std::vector<Match> matches, Facts& facts);

}  // namespace eroica
