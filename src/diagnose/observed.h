#pragma once

#include <functional>
#include <optional>

#include "compare/comparison.h"
#include "diagnose/observation.h"

namespace eroica {

// How facts become observations.

/// A value beside what is usual. Absent where the value is, or is NaN.
std::optional<Observation> observed(std::optional<double> value, std::optional<double> usual);

/// The mean over the candidate's ranks beside the median of their peers (contrast()).
std::optional<Observation> contrasted(const Comparison& now, const Candidate& candidate,
                                      const std::function<double(uint32_t)>& value_of);

/// The value over the peers' median. Absent without peers, or where their median is not positive.
std::optional<Observation> relative(std::optional<Observation> seen);

}  // namespace eroica
