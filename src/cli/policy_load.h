#pragma once

#include <string>

#include "base/result.h"
#include "steps/policy.h"

namespace eroica {

class Log;

/// The policy that a command line names: a file, "default" (or empty) or "eroica". Its problems are logged.
Result<Policy> load_policy(const std::string& name, Log& log);

/// A policy file's text; at most a little more than a policy may have.
Result<std::string> read_policy_text(const std::string& path);

}  // namespace eroica
