#include "diagnose/observed.h"

#include <cmath>

namespace eroica {

std::optional<Observation> observed(std::optional<double> value, std::optional<double> usual) {
  if (!value || std::isnan(*value)) return std::nullopt;
  Observation seen;
  seen.value = *value;
  seen.peers_median = usual;
  return seen;
}

std::optional<Observation> contrasted(const Comparison& now, const Candidate& candidate,
                                      const std::function<double(uint32_t)>& value_of) {
  const auto found = contrast(candidate.subject, now.peers, value_of);
  if (!found) return std::nullopt;
  return Observation{found->value, found->peers_median, found->peers_mad, std::nullopt, ""};
}

std::optional<Observation> relative(std::optional<Observation> seen) {
  if (!seen || !seen->peers_median || *seen->peers_median <= 0) return std::nullopt;
  seen->value /= *seen->peers_median;
  seen->peers_mad /= *seen->peers_median;
  seen->peers_median = 1;
  return seen;
}

}  // namespace eroica
