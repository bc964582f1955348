#pragma once

#include <string>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct DoctorOptions {
  std::string python = "python3";  ///< of the jobs
  std::string probe;               ///< its folder; empty: found
  bool json = false;
};

/// Declares `eroica doctor`.
CLI::App* add_doctor(CLI::App& app, DoctorOptions& options);
int run_doctor(const DoctorOptions& options, Log& log);

}  // namespace eroica
