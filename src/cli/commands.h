#pragma once

#include "cli/logging.h"
#include "cli/options.h"

namespace eroica {

// Each runs one command and returns the exit status.

int run_analyze(const AnalyzeOptions& options, Log& log);
int run_summarize(const SummarizeOptions& options, Log& log);
int run_export(const ExportOptions& options, Log& log);

}  // namespace eroica
