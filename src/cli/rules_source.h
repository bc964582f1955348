#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "diagnose/rule_file.h"

namespace eroica {

/// Reads rule files; a folder stands for its *.toml in alphabetical order. A later file's rule replaces an earlier
/// one's of the same cause. What is wrong inside of files becomes a problem of the set; an error names a path that
/// cannot be read or a folder without rules.
Result<RuleSet> read_rules(const std::vector<std::string>& paths);

/// The files that read_rules() reads of these; nothing of those that it cannot read.
std::vector<std::string> files_of_rules(const std::vector<std::string>& paths);

/// The standard rules, with those of the folders (or files) added to them or in their place.
Result<RuleSet> load_rules(const std::vector<std::string>& extra_dirs);

}  // namespace eroica
