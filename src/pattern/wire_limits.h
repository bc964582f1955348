#pragma once

#include <cstddef>
#include <vector>

#include "pattern/pattern.h"

namespace eroica {

// Always bounded, whatever the size: what no job needs more of. Sequences keep their front.
inline constexpr size_t kMaxLabels = 64;
inline constexpr size_t kMaxLabelKeyBytes = 64;
inline constexpr size_t kMaxLabelValueBytes = 128;
inline constexpr size_t kMaxIdentityBytes = 128;  ///< host, job, device, group, entity
inline constexpr size_t kMaxWordBytes = 64;       ///< metric, unit, kind of collective, dtype
inline constexpr size_t kMaxNoteBytes = 256;
inline constexpr size_t kMaxNotes = 12;
inline constexpr size_t kMaxIssuers = 3;
inline constexpr size_t kMaxHardware = 24;   ///< signals of one function
inline constexpr size_t kMaxGroupRuns = 32;  ///< runs of ranks first, first + stride …; a longer list is dropped
inline constexpr size_t kMaxOpenCollectives = 8;
inline constexpr size_t kMaxGroupRanks = size_t{1} << 20;

/// How much of a pattern is kept. "First functions" are those of the largest exposed or self time.
struct WireLimits {
  size_t functions;      ///< the first ones; the others are summed into `rest` by kind
  size_t with_series;    ///< how many of the first functions keep their series over the steps
  size_t with_hardware;  ///< … their hardware use and issuers
  size_t fine_sketches;  ///< … a sketch of sketch_buckets; the others of a third of it
  size_t sketch_buckets;
  size_t instances;    ///< at most so many: see thin_instances
  size_t steps;        ///< the first ones
  size_t groups;       ///< the last one then stands for all others
  size_t collectives;  ///< the last one then stands for all others
  size_t notes;        ///< words of the import
  size_t labels;       ///< versions, GPU model and environment first
  size_t signals;      ///< the most telling ones: see keep_signals
};

/// From everything to almost nothing. The order of what goes first: functions that hardly count, and the details of
/// all but the first ones; single instances beyond some 1,500; sketch detail; signals of single CPUs and threads; then
/// all of them by turns; steps; groups.
const std::vector<WireLimits>& wire_limits();

/// The pattern within the limits. Every sum is kept; applying the first limits twice changes nothing more.
RankPattern reduce(const RankPattern& pattern, const WireLimits& limits);

}  // namespace eroica
