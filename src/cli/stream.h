#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "cli/progress.h"
#include "compare/job.h"
#include "pattern/pattern.h"
#include "report/document.h"
#include "trace/bundle.h"

namespace eroica {

/// Where a rank's pattern lies.
struct PatternPlace {
  uint32_t file;      ///< index in InputSet::pattern_paths
  uint32_t checksum;  ///< of its record
  bool operator==(const PatternPlace&) const = default;
};

/// A job of so many ranks that their patterns are not kept: only what comparison needs of all, and some whole patterns.
struct StreamedJob {
  Job job;
  NameTable names;
  WholeJob whole;
  std::vector<RankPattern> sample;   ///< by rank; evenly spread over the patterns
  std::vector<std::string> notes;    ///< inputs that were passed over, each with why
  std::vector<PatternPlace> places;  ///< of each rank in `whole.ranks`
};

/// Jobs of fewer ranks are read at once.
inline constexpr size_t kFewRanks = 2048;

/// Are these pattern files alone, with more than kFewRanks patterns? Reads the frames of their records.
bool is_streamed(const InputSet& inputs);

/// Reads all pattern files, on `executor` some at once. The result does not depend on how many at once. Errors: nothing
/// could be used; several patterns of one rank.
Result<StreamedJob> stream_patterns(const InputSet& inputs, Executor& executor, ProgressSink& progress);

/// Adds the whole patterns of these ranks to the sample, as far as few files hold them.
void add_to_sample(StreamedJob& streamed, const InputSet& inputs, std::span<const int32_t> ranks, Executor& executor);

}  // namespace eroica
