// Rule files come from operators: whatever the bytes, they are read or refused in words.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "diagnose/rule_file.h"
#include "diagnose/rule_words.h"
#include "diagnose/vocabulary.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const eroica::RuleSet set = eroica::parse_rules({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
  require(!set.rules.empty() || !set.problems.empty());
  for (const eroica::FileProblem& problem : set.problems) {
    require(!problem.message.empty() && problem.message.find('\n') == std::string::npos);
  }
  for (const eroica::Rule& rule : set.rules) {
    require(eroica::is_cause(rule.cause) && !rule.evidence.empty());
    for (const eroica::EvidenceRule& evidence : rule.evidence) require(eroica::find_fact(evidence.fact) != nullptr);
    require(!eroica::rule_in_words(rule).empty());
  }
  eroica::RuleSet merged = set;
  eroica::merge_rules(merged, set);
  require(merged.rules.size() == set.rules.size());
  return 0;
}
