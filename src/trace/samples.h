#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/trace.h"

namespace eroica {

/// Reads a file of sample counters (Chrome counter events; any compression). Same tolerance as read_kineto; a file
/// without counters gives no series.
struct SampleFile {
  SampleSet samples;
  Defects defects;
  uint64_t text_bytes = 0;
};
Result<SampleFile> read_samples(std::unique_ptr<ByteSource> input);

/// Merges `more` into `into`: what has the same entity, metric and unit becomes one series. Times are rebased to
/// into's base (more's, where `into` has no series yet). The series come ordered by entity, metric and unit, their
/// samples by time, so the order of merging never shows but in the base.
void merge_samples(SampleSet& into, const SampleSet& more);

/// What time a sample speaks for.
enum class SampleMeaning {
  kRate,   ///< the interval since the previous sample of its series
  kLevel,  ///< the time until the next sample
};
/// By the unit: fractions, cores and everything per second but a link's negotiated speed are rates; counts, bytes,
/// frequencies, watts, temperatures, milliseconds and what has no unit are levels (docs/signals.md).
SampleMeaning sample_meaning(std::string_view unit);

}  // namespace eroica
