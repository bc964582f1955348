#include "diagnose/standard_rules.h"

#include <string>

namespace eroica {

RuleSet standard_rules() {
  RuleSet rules;
  for (const EmbeddedRules& file : embedded_rules()) merge_rules(rules, parse_rules(file.text, std::string(file.name)));
  return rules;
}

}  // namespace eroica
