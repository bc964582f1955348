#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "compare/job.h"

namespace eroica {

/// The ranks that wait for a culprit, by number, ascending: those that collectives in which all members wait for each
/// other, or messages of a pipeline, join to it, directly or through other ranks. A part of the job that nothing joins
/// to a culprit has no victims. `culprits`: numbers of ranks.
std::vector<int32_t> victims_of(const Job& job, const std::set<int32_t>& culprits);

}  // namespace eroica
