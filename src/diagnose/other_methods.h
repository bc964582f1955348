#pragma once

#include <span>

#include "diagnose/diagnosis.h"
#include "diagnose/rule.h"
#include "pattern/pattern.h"

namespace eroica {

// Other people's methods in the form of our answer, so that all are judged alike. They stop at a function and ranks;
// the cause is then guessed from the kind of function: compute → gpu.slow_unexplained, memory → pcie.link_downgrade,
// collective → nic.slow_link, fetch → data.slow_local_disk, everything else on the host → code.slow_function.
// `rules`: where titles and actions of these causes are taken from. Deterministic; pure.

/// compare/eroica_method.h. Abnormal functions of the same kind on the same ranks are one diagnosis, of the function
/// with the largest excess. What is said of all ranks has scope kAll.
Conclusion conclude_by_eroica(std::span<const RankPattern> patterns, const NameTable& names,
                              std::span<const Rule> rules);

/// compare/naive_methods.h.
Conclusion conclude_by_largest_total(std::span<const RankPattern> patterns, const NameTable& names,
                                     std::span<const Rule> rules);
Conclusion conclude_by_longest_collective(std::span<const RankPattern> patterns, const NameTable& names,
                                          std::span<const Rule> rules);

}  // namespace eroica
