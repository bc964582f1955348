#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct SimulateOptions {
  uint64_t seed = 1;
  std::vector<std::string> faults;
  double strength = -1;  ///< −1: drawn from the seed
  int ranks = 0;
  std::string layout;
  int steps = 0;
  std::string folder;
  std::string format = "bundle";
  std::vector<std::string> dropped_signals;
  std::vector<int> dropped_ranks;
  bool with_baseline = false;
  bool list_faults = false;
};

/// Declares `eroica simulate` and its options.
CLI::App* add_simulate(CLI::App& app, SimulateOptions& options);
int run_simulate(const SimulateOptions& options, Log& log);

}  // namespace eroica
