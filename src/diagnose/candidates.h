#pragma once

#include <vector>

#include "diagnose/facts.h"
#include "diagnose/observation.h"

namespace eroica {

/// Time classes whose excess a rule explains in this job: where there is no device, whatever slows Python or launching
/// calls slows operators as well.
std::vector<TimeClass> affected_classes(const Rule& rule, const Job& job);
/// Do two rules speak of time of the same class?
bool share_classes(const Rule& a, const Rule& b, const Job& job);

/// Share of a rank's window in the classes, communication left out: what it does itself.
double own_share(const RankFacts& rank, const std::vector<TimeClass>& classes);

/// All of whom a rule might speak, with what the job would gain. Whether the rule's evidence holds is not yet asked,
/// but for the evidence by which the ranks are found.
std::vector<Candidate> find_candidates(const Rule& rule, Facts& facts);

}  // namespace eroica
