#include "cli/told_ends.h"

#include <algorithm>

namespace eroica {

bool ToldEnds::holds(const Conclusion& conclusion, const Pids& pids) const {
  const auto is_told = [&](int32_t rank) {
    const auto told = told_.find(rank);
    const auto now = pids.find(rank);
    return told != told_.end() && now != pids.end() && told->second == now->second;
  };
  return !conclusion.diagnoses.empty() && std::ranges::all_of(conclusion.diagnoses, [&](const Diagnosis& diagnosis) {
    return diagnosis.cause.starts_with("blocked.") && !diagnosis.ranks.empty() &&
           std::ranges::all_of(diagnosis.ranks, is_told);
  });
}

void ToldEnds::add(const Conclusion& conclusion, const Pids& pids) {
  for (const Diagnosis& diagnosis : conclusion.diagnoses) {
    if (diagnosis.cause != "blocked.process_dead") continue;
    for (const int32_t rank : diagnosis.ranks) {
      if (const auto pid = pids.find(rank); pid != pids.end()) told_[rank] = pid->second;
    }
  }
}

}  // namespace eroica
