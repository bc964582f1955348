#pragma once

#include "diagnose/diagnosis.h"

namespace eroica {

/// Adds to each statement about some of the ranks, as evidence, how much later than the other members those came to the
/// joined collectives: ms a step, beside the same of the other members. Only where it is more than both a hundredth of
/// the step and the error of the ends.
void tell_who_was_waited_for(Conclusion& conclusion);

}  // namespace eroica
