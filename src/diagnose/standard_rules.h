#pragma once

#include <span>
#include <string_view>

#include "diagnose/rule_file.h"

namespace eroica {

/// A rule file that is part of the program.
struct EmbeddedRules {
  std::string_view name;  ///< "rules/gpu.toml"
  std::string_view text;
};
std::span<const EmbeddedRules> embedded_rules();  ///< by name

/// The rules that the program brings along, parsed. They have no problems; a test sees to that.
RuleSet standard_rules();

}  // namespace eroica
