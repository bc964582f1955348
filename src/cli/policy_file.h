#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_problem.h"
#include "steps/policy.h"

namespace eroica {

struct PolicyFile {
  Policy policy;  ///< the default one, changed by what the file holds and is right
  std::vector<FileProblem> problems;
};

/// Reads a policy from TOML (docs/detector.md). What is wrong becomes a problem with its line. Never throws; at most 1
/// MiB is read.
PolicyFile parse_policy(std::string_view toml, const std::string& file);

/// The policy as such a file, each key with what it means.
std::string policy_toml(const Policy& policy);

}  // namespace eroica
