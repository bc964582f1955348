#pragma once

#include <string>

#include "cli/inputs.h"
#include "report/document.h"
#include "trace/op_timeline.h"

namespace eroica {

/// The operation timeline that the paths name: a single file that is one by content, or the one in a single small
/// folder without traces. Empty: they name none. Two in a folder are an error.
OrStatus<std::string> find_timeline(const InputOptions& options, Log& log);

/// Reads a timeline; what is wrong with it is logged.
OrStatus<OpTimeline> load_timeline(const std::string& path, Log& log);

/// "trace-ST" of "jobs/trace-ST.csv.gz".
std::string job_of_timeline(const std::string& path);

}  // namespace eroica
