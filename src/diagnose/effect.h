#pragma once

#include "compare/kernel_speed.h"
#include "diagnose/facts.h"
#include "diagnose/observation.h"

namespace eroica {

/// Which kernels a rule speaks of.
KernelClass kernel_class(const Rule& rule);

/// Fills saved, communication_saved, effect_measured and effect of a candidate whose rule, subject and entities are
/// set: what the subject's own time in the affected classes exceeds its peers' (but not more than all of its own time
/// does), what its kernels exceed the same kernels elsewhere where it has no peers, and for communication what the
/// transfers exceed those of like groups. For rules about functions: the functions' critical time above the peers'.
void measure_effect(Candidate& candidate, Facts& facts);

}  // namespace eroica
