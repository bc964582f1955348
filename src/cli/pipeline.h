#pragma once

#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "cli/progress.h"
#include "pattern/pattern.h"
#include "pattern/wire.h"
#include "trace/bundle.h"

namespace eroica {

/// Every rank's pattern and the words they use.
struct Collected {
  std::vector<RankPattern> patterns;    ///< by rank, each rank once
  std::vector<RankPattern> unobserved;  ///< ranks that wrote no trace, with what their samples say; by rank
  NameTable names;                      ///< what the patterns refer to
  std::vector<std::string> notes;       ///< inputs that were passed over, each with why
};

/// Reads what `discover` found and reduces it: sample files once; then one trace after the other on `executor`, largest
/// first, each dropped as soon as its pattern is encoded, so that at most as many traces are in memory as the executor
/// runs bodies at once; then pattern files. Traces go through the encoded pattern, so both ways give the same result.
/// A rank that the bundle names and whose trace is absent or unusable is left with its samples over the others' window.
/// An input that cannot be used becomes a note. Errors: nothing could be used (all reasons in the message), ranks that
/// are ambiguous.
Result<Collected> collect_patterns(const InputSet& inputs, const std::string& step_marker, Executor& executor,
                                   ProgressSink& progress);

/// Reads a whole pattern file.
Result<PatternFile> load_pattern_file(const std::string& path);

/// All files that an input set names.
std::vector<std::string> input_files(const InputSet& inputs);

}  // namespace eroica
