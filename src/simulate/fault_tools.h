#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "simulate/fault.h"
#include "simulate/random.h"

namespace eroica {

// Small words in which the faults are written.

inline std::vector<int> ranks_of_host(const JobSpec& job, int host) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<size_t>(job.world()));
  for (int rank = 0; rank < job.world(); ++rank) {
    if (job.host_of(rank) == host) ranks.push_back(rank);
  }
  return ranks;
}
inline std::vector<int> all_ranks(const JobSpec& job) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<size_t>(job.world()));
  for (int rank = 0; rank < job.world(); ++rank) ranks.push_back(rank);
  return ranks;
}
/// One rank is at fault.
inline void blame_rank(const FaultScene& scene, FaultOutcome& outcome) {
  outcome.ranks = {scene.rank};
  outcome.hosts = {scene.plant.job.host_of(scene.rank)};
  outcome.scope = "ranks";
}
inline void blame_host(const FaultScene& scene, FaultOutcome& outcome, std::string_view scope = "host") {
  outcome.ranks = ranks_of_host(scene.plant.job, scene.host);
  outcome.hosts = {scene.host};
  outcome.scope = scope;
}
inline void blame_all(FaultOutcome& outcome) {
  outcome.ranks_judged = false;
  outcome.hosts_judged = false;
  outcome.scope = "all";
}
inline std::vector<PlantProcess*> processes_of_host(const FaultScene& scene) {
  std::vector<PlantProcess*> processes;
  for (const int rank : ranks_of_host(scene.plant.job, scene.host)) processes.push_back(&scene.plant.processes[rank]);
  return processes;
}
/// From `mild` at strength 0 to `strong` at 1, a little different for each seed.
inline double scaled(const FaultScene& scene, double mild, double strong) {
  return (mild + (strong - mild) * scene.strength) * scene.random.uniform(0.95, 1.05);
}
inline double limited(double value, double low, double high) { return std::clamp(value, low, high); }

/// Host time that has to be added to a step before it lasts longer: none where the host waits for the device each
/// step, else what it is ahead.
inline double slack_ns(const FaultScene& scene) {
  if (scene.plant.job.sync_every == 1) return 0;
  return std::max(0.0, scene.facts.step_ns - scene.facts.host_ns);
}
/// Milliseconds to add to each step at one place of the host's program so that steps last `share` longer.
inline double added_ms(const FaultScene& scene, double share) {
  return (slack_ns(scene) + share * scene.facts.step_ns) / 1e6;
}
/// How many times slower the host must be for steps to last `share` longer.
inline double host_slowdown(const FaultScene& scene, double share) {
  return std::max(1.3, scene.facts.step_ns * (1 + share) / std::max(1e5, scene.facts.host_ns));
}
/// Time to add to each launch for steps to last `share` longer.
inline double added_us_per_launch(const FaultScene& scene, double share) {
  return std::max(0.0, (host_slowdown(scene, share) - 1) * scene.facts.host_ns) / scene.facts.launches / 1e3;
}
inline std::string project_frame(const FaultScene& scene, std::string_view file, std::string_view function) {
  return scene.plant.dialect.root + std::string(file) + "(" + std::to_string(scene.random.integer(20, 700)) +
         "): " + std::string(function);
}
/// For a regular expression that finds a frame's function.
inline std::string function_of(const Frame& frame) { return frame.substr(frame.rfind(' ') + 1); }
inline int every_or(const FaultScene& scene, int usual) { return scene.wish.every > 0 ? scene.wish.every : usual; }

}  // namespace eroica
