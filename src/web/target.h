#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

/// "/api/v1/jobs/a%2Fb?limit=3", taken apart.
struct Target {
  std::vector<std::string> path;  ///< segments, decoded; a slash at the end counts for nothing
  std::map<std::string, std::string> query;
};

/// nullopt: a broken percent code, or control characters.
std::optional<Target> parse_target(std::string_view target);
/// One segment or value, for a target.
std::string percent_encoded(std::string_view text);

}  // namespace eroica
