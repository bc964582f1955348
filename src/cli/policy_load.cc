#include "cli/policy_load.h"

#include "cli/logging.h"
#include "cli/policy_file.h"
#include "cli/text_file.h"

namespace eroica {
Result<Policy> load_policy(const std::string& name, Log& log) {
  if (name.empty() || name == "default") return Policy{};
  if (name == "eroica") {
    Policy policy;
    policy.method = DetectorMethod::kEroica;
    return policy;
  }
  const Result<std::string> toml = read_text_file(name);
  if (!toml) return toml.error();
  PolicyFile file = parse_policy(*toml, name);
  for (const FileProblem& problem : file.problems) log.error(in_words(problem));
  if (!file.problems.empty()) return Error{Error::Kind::kInvalid, name + ": has problems, so it is not used"};
  return std::move(file.policy);
}

}  // namespace eroica
