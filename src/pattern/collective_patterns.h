#pragma once

#include <vector>

#include "pattern/device_work.h"
#include "pattern/function_slots.h"
#include "pattern/issuers.h"
#include "pattern/pattern.h"
#include "steps/step_finder.h"
#include "trace/bundle.h"
#include "trace/trace.h"

namespace eroica {

/// Fills the pattern's groups, collectives and instances from the collectives that ran (sorted by start). Kind, size
/// and group come from a collective's own arguments, else from the operator that launched it, else from its name and
/// thread; the sequence number from its own arguments, else counted from the edges' numbers (edge_numbers.h). Adds the
/// bytes moved to the collectives' functions. Where the window ended quietly (window_end.h), also the
/// collectives that had not ended.
void fill_collectives(const Trace& trace, const WindowClip& window, const DeviceWork& work, IssuerLookup& lookup,
                      const std::vector<ProcessGroup>& known, const WindowEdges& edges, const Steps& steps,
                      FunctionSlots& slots, RankPattern& pattern);

/// Adds the groups that the rank belongs to but did not use in the window: they tell its place in the job all the same.
void add_unused_groups(const std::vector<ProcessGroup>& known, RankPattern& pattern);

/// ns → µs per step, rounded and held within 32 bits.
std::vector<uint32_t> quantise_us(std::span<const int64_t> series_ns);

}  // namespace eroica
