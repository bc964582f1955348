#pragma once

#include <string>

#include "compare/job.h"

namespace eroica {

/// Why an earlier window says nothing of this one, in words: other accelerators, another number of ranks, another
/// layout, another program. Empty: both are of like jobs.
std::string misfit_of_baseline(const Job& now, const Job& then);

}  // namespace eroica
