#pragma once

#include "compare/job.h"
#include "compare/subject.h"

namespace eroica {

/// Gives every rank that wrote no trace the times and functions of a typical peer (by its groups, as others list them,
/// and its host), so that its own signals can be weighed as any rank's are. How much longer it may have taken shows in
/// what the others wait: waited_for().
void stand_in_for_unobserved(Job& job);

/// Whether any of the ranks wrote a trace.
bool is_observed(const Subject& subject, const Job& job);

/// The share of the window for which all observed ranks of `set` were in communication at least: more than that an
/// unobserved peer of theirs cannot have cost.
double waited_for(const Job& job, const std::vector<uint32_t>& set);

}  // namespace eroica
