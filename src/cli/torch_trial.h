#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/host_checks.h"
#include "agent/probe_message.h"

namespace eroica {

/// What came of starting a process that imports torch, as a rank of a watched job would.
struct TorchTrial {
  std::string problem;                ///< Python or torch could not be had; empty: torch was imported
  std::string torch;                  ///< its version
  std::optional<HelloMessage> hello;  ///< what the probe in it said; none: it was not heard
  bool kineto_asked = false;          ///< Kineto in it asked for work
  double kineto_s = 0;                ///< after the import
};

/// Takes as long as the import, and some seconds; at most two minutes. `probe`: its folder; empty: none.
TorchTrial try_torch(const std::string& python, const std::string& probe);

/// What follows for watching and profiling.
std::vector<Check> checks_of(const TorchTrial& trial, const std::string& python, const std::string& probe);

}  // namespace eroica
