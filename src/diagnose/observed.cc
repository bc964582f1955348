#include "diagnose/observed.h"

#include <cmath>

namespace eroica {

std::optional<SeenFact> observed(std::optional<double> value, std::optional<double> usual) {
  if (!value || std::isnan(*value)) return std::nullopt;
  SeenFact seen;
  seen.value = *value;
  seen.peers_median = usual;
  return seen;
}

std::optional<SeenFact> contrasted(const Comparison& now, const Candidate& candidate,
                                   const std::function<double(uint32_t)>& value_of) {
  const auto found = contrast(candidate.subject, now.peers, value_of);
  if (!found) return std::nullopt;
  return SeenFact{found->value, found->peers_median, found->peers_mad, std::nullopt, ""};
}

std::optional<SeenFact> relative(std::optional<SeenFact> seen) {
  if (!seen || !seen->peers_median || *seen->peers_median <= 0) return std::nullopt;
  seen->value /= *seen->peers_median;
  seen->peers_mad /= *seen->peers_median;
  seen->peers_median = 1;
  return seen;
}

}  // namespace eroica
