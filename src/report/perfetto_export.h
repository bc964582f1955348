#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/byte_sink.h"
#include "trace/trace.h"

namespace eroica {

/// One rank of a merged trace.
struct ExportRank {
  int32_t rank = -1;
  std::string label = {};            ///< shown behind the rank: its host, say; may be empty
  std::string clock = {};            ///< ranks with the same one (machine, host) share a clock; empty: its own
  const Trace* trace = nullptr;      ///< sorted
  int64_t window_start_unix_ns = 0;  ///< on its own clock; what lies outside is cut off
  int64_t window_end_unix_ns = 0;
};

struct PerfettoOptions {
  std::optional<double> from_ms =
      std::nullopt;  ///< since the start of the lowest rank's window, on the aligned clock; absent = all
  std::optional<double> to_ms = std::nullopt;
  bool gzip = false;
  const SampleSet* samples = nullptr;  ///< of the job; entities "rank N" follow that rank's clock
};

struct PerfettoSummary {
  uint64_t events = 0;                ///< slices, counter values and the ends of flows
  std::vector<std::string> notes;     ///< how each clock was aligned, what was left out
  std::vector<std::string> warnings;  ///< clocks that could not be aligned, each with why
};

/// Writes one merged Chrome JSON trace that Perfetto opens: a process per rank; in it a thread per host thread and
/// device stream (further lanes where executions overlap without nesting), counters, arrows from launches to the device
/// work that they caused, collectives with their group, sequence number and bytes. The ranks' clocks are aligned with
/// that of the lowest rank by the ends of collectives; ranks that share a clock are moved as one. A rank whose clock
/// cannot be aligned keeps its own, cut to its own window, and a warning says so. The output is streamed: memory does
/// not grow with it. The same input gives the same bytes.
/// Errors: the sink's, and kInvalid when there is no rank or the time range is empty.
Result<PerfettoSummary> export_perfetto(std::span<const ExportRank> ranks, const PerfettoOptions& options,
                                        const ByteSink& sink);

}  // namespace eroica
