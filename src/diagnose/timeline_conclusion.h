#pragma once

#include <span>
#include <vector>

#include "compare/timeline_what_if.h"
#include "diagnose/diagnosis.h"
#include "diagnose/rule.h"

namespace eroica {

/// The number of every worker of a timeline: as the file numbers them where these are all different, else their place
/// by data-parallel rank, then stage.
std::vector<int32_t> worker_ranks(const OpTimeline& timeline);

/// What a timeline's report means: its verdict as a claim, what else it found as hints, and the stages as peers. A
/// timeline shows durations and no cause of a slow device, so a slow worker is gpu.slow_unexplained, and other causes
/// stand as alternatives with what would decide. `rules`: where titles and actions are taken from. Deterministic; pure.
Conclusion conclude_timeline(const OpTimeline& timeline, const TimelineReport& report, std::span<const Rule> rules);

}  // namespace eroica
