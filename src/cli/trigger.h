#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct TriggerOptions {
  std::string job;
  std::optional<double> window_s;  ///< length; absent: as the job's watcher would choose
  std::string reason;
  bool wait = false;
  bool json = false;
};

/// Declares `eroica trigger`.
CLI::App* add_trigger(CLI::App& app, TriggerOptions& options);
int run_trigger(const TriggerOptions& options, Log& log);

}  // namespace eroica
