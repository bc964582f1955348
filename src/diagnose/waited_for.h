#pragma once

#include <vector>

#include "diagnose/diagnosis.h"

namespace eroica {

/// Keeps the joined collectives with the conclusion, and adds to each of its statements about some of the ranks, as
/// evidence, how much later than the other members those came to them: ms a step, beside the same of the other members.
/// Only where it is more than both a hundredth of the step and the error of the ends.
void tell_who_was_waited_for(Conclusion& conclusion, std::vector<JoinedCollective> joined);

}  // namespace eroica
