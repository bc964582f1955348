#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct AgentOptions {
  std::string policy;  ///< a file; empty: the default one
  bool watch_only = false;
  std::optional<double> window_s;
  std::string json;  ///< diagnoses are appended to this file
  std::string keep;  ///< windows are kept in this folder
};

/// Declares `eroica agent`.
CLI::App* add_agent(CLI::App& app, AgentOptions& options);
/// Until a signal ends it.
int run_agent(const AgentOptions& options, Log& log);

}  // namespace eroica
