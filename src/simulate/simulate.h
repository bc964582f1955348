#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulate/fault.h"

namespace eroica {

/// What is to be simulated. The same request gives the same bytes.
struct SimulateRequest {
  uint64_t seed = 1;
  std::vector<FaultWish> faults;   ///< none: a healthy job
  std::optional<double> strength;  ///< of faults that name none; default: drawn from the seed
  JobWishes wishes;
  std::vector<std::string> dropped_signals;  ///< globs over metric names
  std::vector<int> dropped_ranks;            ///< write no trace
  bool with_baseline = false;                ///< also the same job without the faults
};

struct SimulatedFile {
  std::string path;  ///< below the bundle's folder
  std::string bytes;
};

/// How the job went, with and without its faults.
struct SimulatedTruth {
  std::vector<FaultOutcome> faults;
  double step_ms = 0;
  double healthy_step_ms = 0;
  double slowdown = 1;
  double strength = 0;
};

struct Simulated {
  std::vector<SimulatedFile> files;  ///< bundle.json, traces, samples, truth.json, baseline/…
  SimulatedTruth truth;
};

/// Plays the job with its faults, and without them to know what they cost; writes a bundle (docs: the public contract)
/// and truth.json, which no diagnosis reads. Error kInvalid: a fault's target or a rank that the job does not have.
Result<Simulated> simulate(const SimulateRequest& request);

}  // namespace eroica
