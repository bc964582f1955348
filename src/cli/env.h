#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct EnvOptions {
  enum class Form : uint8_t { kShell, kPlain, kJson };
  std::string job;    ///< its id; empty: of SLURM, or made up
  std::string probe;  ///< folder of the probe; empty: found
  bool watch_only = false;
  Form form = Form::kShell;
};

/// Declares `eroica env`.
CLI::App* add_env(CLI::App& app, EnvOptions& options);
int run_env(const EnvOptions& options, Log& log);

}  // namespace eroica
