#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct RulesOptions {
  enum class Verb { kCheck, kList, kExplain };
  Verb verb = Verb::kCheck;
  std::vector<std::string> paths;  ///< check: files or folders; empty: the standard rules
  std::vector<std::string> extra;  ///< --rules
  std::string cause;               ///< explain
  bool json = false;
};

/// Declares `eroica rules` and its verbs.
CLI::App* add_rules(CLI::App& app, RulesOptions& options);
int run_rules(const RulesOptions& options, Log& log);

}  // namespace eroica
