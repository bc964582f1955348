#pragma once

#include <string>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct StatusOptions {
  std::string job;  ///< empty: all
  bool json = false;
};

/// Declares `eroica status`.
CLI::App* add_status(CLI::App& app, StatusOptions& options);
int run_status(const StatusOptions& options, Log& log);

}  // namespace eroica
