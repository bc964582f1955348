#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file_problem.h"
#include "base/result.h"
#include "diagnose/rule.h"

namespace eroica {

struct RuleSet {
  std::vector<Rule> rules;  ///< by cause; a later file's rule replaces an earlier one's of the same cause
  std::vector<FileProblem> problems;
};

/// Reads the rules of one TOML file (docs/rules.md). What is wrong becomes a problem with its line; a rule with a
/// problem is left out, the others are kept. Never throws; at most 1 MiB is read.
RuleSet parse_rules(std::string_view toml, const std::string& file);

/// Adds `more` to `into`: equal causes are replaced. Ids must be of the taxonomy or begin with "site.".
void merge_rules(RuleSet& into, RuleSet more);

/// The causes to which one of `rules` yields and of which `loaded` has no rule: nothing is ever yielded to them.
std::vector<FileProblem> idle_yields(const RuleSet& rules, const RuleSet& loaded);

/// Every fact and metric that a rule may name.
const std::vector<std::string_view>& known_facts();

}  // namespace eroica
