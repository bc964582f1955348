#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pattern/attribution.h"
#include "pattern/function_slots.h"
#include "pattern/issuers.h"
#include "pattern/pattern.h"
#include "trace/trace.h"

namespace eroica {

/// Fills pattern.functions with the functions that matter, most exposed first, and pattern.rest with the others summed
/// by kind; describes them and their issuers in `names`. Returns the slots of pattern.functions, in its order.
std::vector<uint32_t> fill_functions(const FunctionSlots& slots, const Attribution& attribution, const IssuedNs& issued,
                                     NameTable& names, RankPattern& pattern);

/// Adds to the most exposed functions their use of those of these signals that can say something about their kind. The
/// samples' times count from `base_unix_ns`.
void fill_hardware(const Attribution& attribution, const std::vector<uint32_t>& function_slots,
                   std::span<const SampleSeries* const> series, int64_t base_unix_ns, RankPattern& pattern);

}  // namespace eroica
