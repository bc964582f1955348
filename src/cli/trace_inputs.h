#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "cli/progress.h"
#include "pattern/summarize.h"
#include "trace/bundle.h"
#include "trace/trace.h"

namespace eroica {

/// The message, with the path in front where it does not name it already.
std::string about(const std::string& path, const std::string& message);

/// Opens and reads one trace. The error names the path; a trace without any timed event is one.
Result<Trace> read_trace(const std::string& path, ProgressSink& progress);
/// A rank's trace with the Python functions that were sampled beside it. `problem`: why those are missing.
Result<Trace> read_trace(const RankInput& input, ProgressSink& progress, std::string& problem);

/// Samples of all entities, and what their files went through.
struct Samples {
  SampleSet set;
  Defects defects;
};

/// Reads each file once; those that cannot be used become notes.
Samples read_sample_files(const std::vector<std::string>& paths, std::vector<std::string>& notes);

/// The rank as far as one trace tells; resolve_ranks decides when all are known. -1: nothing tells.
int32_t assumed_rank(const InputSet& inputs, const RankInput& input, int32_t metadata_rank);

/// The machine that a host of the bundle shares with others; empty = none.
std::string machine_of(const InputSet& inputs, const std::string& host);

/// What summarize needs to know of one input. `samples` must outlive the result.
SummarizeInput summarize_input(const InputSet& inputs, const RankInput& input, int32_t rank, const SampleSet& samples,
                               const std::string& step_marker);

/// Calls body(i) for each of `ranks` that has a trace, the largest first: the longest work must not begin last.
void for_each_trace(const std::vector<RankInput>& ranks, Executor& executor, ProgressSink& progress,
                    const std::function<void(size_t)>& body);

}  // namespace eroica
