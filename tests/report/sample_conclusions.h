#pragma once

#include "diagnose/diagnosis.h"

namespace eroica::testing {

/// One claim on ranks 2 and 3 (heat), two hints.
Conclusion heat_conclusion();

/// Two claims: a function on rank 2 without a component, and a slow link of all ranks of two hosts.
Conclusion two_claims();

/// Said of all ranks; no function, no evidence with peers.
Conclusion all_ranks();

/// Rank 3 did not enter a collective, and why.
Conclusion blocked_conclusion();

/// 1,000 ranks in two stages, every seventh is a culprit, all others wait; hostile names.
Conclusion thousand_ranks();

/// Nothing wrong, one peer group.
Conclusion healthy_conclusion(int ranks);

}  // namespace eroica::testing
