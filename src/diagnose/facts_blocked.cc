#include <algorithm>

#include "diagnose/facts.h"

namespace eroica {
namespace {

// Where a trace ends early and no samples tell, death is the likelier.
constexpr double kLikelier = 0.6;

double says_gone(Absence absence) {
  return absence == Absence::kGone ? 1 : absence == Absence::kGoneOrStopped ? kLikelier : 0;
}

double says_stopped(Absence absence) {
  return absence == Absence::kStopped ? 1 : absence == Absence::kGoneOrStopped ? 1 - kLikelier : 0;
}

}  // namespace

std::optional<SeenFact> Facts::blocked(std::string_view fact, const Candidate& candidate) const {
  if (!now_->blocked) return std::nullopt;
  const BlockedJob& blocked = *now_->blocked;
  SeenFact seen;
  if (fact == "blocked.waiting") {
    seen.value = 1;
    return seen;
  }
  for (size_t i = 0; i < blocked.missing.size(); ++i) {
    if (!candidate.subject.contains(blocked.missing[i])) continue;
    const Absence absence = blocked.absence[i];
    double value = 0;
    if (fact == "blocked.process_dead") value = says_gone(absence);
    if (fact == "blocked.process_stopped") value = says_stopped(absence);
    if (fact == "blocked.mismatch") value = absence == Absence::kMismatch ? 1 : 0;
    if (fact == "blocked.cycle") value = absence == Absence::kCycle ? 1 : 0;
    seen.value = std::max(seen.value, value);
  }
  return seen;
}

}  // namespace eroica
