#pragma once

#include <functional>
#include <optional>

#include "compare/comparison.h"
#include "diagnose/observation.h"

namespace eroica {

// How facts become observations.

/// A value beside what is usual. Absent where the value is, or is NaN.
std::optional<SeenFact> observed(std::optional<double> value, std::optional<double> usual);

/// The mean over the candidate's ranks beside the median of their peers (contrast()).
std::optional<SeenFact> contrasted(const Comparison& now, const Candidate& candidate,
                                   const std::function<double(uint32_t)>& value_of);

/// The value over the peers' median. Absent without peers, or where their median is not positive.
std::optional<SeenFact> relative(std::optional<SeenFact> seen);

}  // namespace eroica
