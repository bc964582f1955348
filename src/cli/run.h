#pragma once

#include <string>
#include <vector>

#include "cli/watch_command.h"

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct RunOptions {
  WatchCommand watch;
  std::string job;    ///< its id; empty: made up
  std::string probe;  ///< folder of the probe; empty: found
  std::vector<std::string> command;
};

/// Declares `eroica run`; the command stands after "--" and is none of its arguments.
CLI::App* add_run(CLI::App& app, RunOptions& options);
/// The command's exit status; 126 and 127 when it could not be run.
int run_run(const RunOptions& options, Log& log);

}  // namespace eroica
