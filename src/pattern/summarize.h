#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pattern/pattern.h"
#include "trace/bundle.h"
#include "trace/trace.h"

namespace eroica {

struct SummarizeInput {
  RankInput rank;       ///< who this is (its rank may still be unknown)
  std::string machine;  ///< of the rank's host, where it shares one with other hosts; empty = none
  std::map<std::string, std::string> host_labels;  ///< of the rank's host; the rank's own win
  std::string job_id;
  int32_t world_size = -1;
  std::optional<WindowSpec> window;    ///< absent: first event's start to last event's start
  std::vector<ProcessGroup> groups;    ///< of the bundle; the trace's own are used as well
  const SampleSet* samples = nullptr;  ///< samples of all entities (bundle); the trace's own are used as well
  std::string step_marker;
};

/// Reduces one rank's trace to its pattern: steps, call trees, critical path, functions, collectives, hardware use.
/// Adds the words of its functions to `names`. Pure; the trace must be sorted. Does not bound its result: encoding
/// does (wire.h).
RankPattern summarize(const Trace& trace, const SummarizeInput& input, NameTable& names);

/// What is known of a rank that wrote no trace (is_observed() of it is false): who it is, and its samples over
/// `window`.
RankPattern summarize_samples(const SummarizeInput& input, const WindowSpec& window);

}  // namespace eroica
