#pragma once

#include <string>

#include "base/result.h"
#include "steps/policy.h"

namespace eroica {

class Log;

/// The policy that a command line names: a file, "default" (or empty) or "eroica". Its problems are logged.
Result<Policy> load_policy(const std::string& name, Log& log);

}  // namespace eroica
