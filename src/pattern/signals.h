#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pattern/pattern.h"
#include "trace/trace.h"

namespace eroica {

/// The most signals that a pattern carries.
inline constexpr size_t kMostSignals = 160;

/// By metric, then entity and unit.
void sort_signals(std::vector<SignalUse>& signals);

/// Keeps of more than `most` signals the most telling ones, in their old order: of the rank itself, then of its GPU,
/// its host, the host's NICs and disks, the rank's workers and threads, the host's CPUs. Of each kind of entity the
/// largest of every metric go first. CPUs keep at most 16 series, those of most time in interrupts or stolen.
void keep_signals(std::vector<SignalUse>& signals, size_t most);

/// Adds what these series (of samples that begin at `base_unix_ns`) say over the pattern's window.
void add_signals(std::span<const SampleSeries* const> series, int64_t base_unix_ns, RankPattern& pattern);

}  // namespace eroica
