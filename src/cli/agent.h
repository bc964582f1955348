#pragma once

#include "cli/watch_command.h"

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct AgentOptions {
  WatchCommand watch;
};

/// Declares `eroica agent`.
CLI::App* add_agent(CLI::App& app, AgentOptions& options);
/// Until a signal ends it.
int run_agent(const AgentOptions& options, Log& log);

}  // namespace eroica
