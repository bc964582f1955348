#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/simulate.h"

namespace eroica {

/// Patterns of a job that is too large for traces.
struct PackRequest {
  SimulateRequest job;  ///< its ranks and layout are those of the small job that serves as the template
  int ranks = 100'000;
  int ranks_per_pack = 1000;
};
/// Takes a file: its name and its content.
using PackSink = std::function<Status(std::string_view name, std::string_view bytes)>;

/// What went into the packs.
struct PackSummary {
  size_t packs = 0;
  std::vector<int> faulty;  ///< ranks that are made after the faulty rank of the small job
};

/// Plays a small job, reduces one healthy and one faulty rank of it to patterns, and writes packs (pattern_file.h) of
/// many ranks that differ from these two by noise: times, hosts, GPUs and hardware use. Then the names, and truth.json.
/// Errors: those of simulate() and of the sink.
Result<PackSummary> write_packs(const PackRequest& request, const PackSink& sink);

}  // namespace eroica
