#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/pipeline.h"
#include "trace/bundle.h"

namespace eroica {

/// A value, or the exit status with which to leave (the reason was logged).
template <typename T>
using OrStatus = std::variant<T, int>;

/// Lists what the paths name. `role`: begins every message ("baseline"); empty for the window itself.
OrStatus<InputSet> find_inputs(const InputOptions& options, Log& log, const std::string& role = "");

/// Reads and reduces it. Inputs that were passed over are logged.
OrStatus<Collected> read_inputs(const InputSet& inputs, const InputOptions& options, Log& log,
                                const std::string& role = "");

/// Logs and returns false when `output` would overwrite an input.
bool spares_inputs(const std::string& output, const InputSet& inputs, const InputOptions& options, Log& log);

}  // namespace eroica
