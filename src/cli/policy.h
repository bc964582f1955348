#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace eroica {

class Log;
struct ReplayOutcome;

struct PolicyOptions {
  enum class Verb { kShow, kCheck, kReplay };
  Verb verb = Verb::kShow;
  std::vector<std::string> paths;  ///< check: policies; replay: step records
  std::string policy;              ///< replay: a file, "default" or "eroica"; empty: the default one
  std::string against;             ///< replay: another one; empty: none
  bool json = false;
};

/// Declares `eroica policy` and its verbs.
CLI::App* add_policy(CLI::App& app, PolicyOptions& options);
int run_policy(const PolicyOptions& options, Log& log);

/// As one of `jobs` of `eroica policy replay --format json`, in one line.
std::string replay_json(const ReplayOutcome& outcome);

}  // namespace eroica
