#include <array>

#include "simulate/fault_tools.h"

namespace eroica {
namespace {

/// Something that happens once, in the middle of the window.
Deed once(const FaultScene& scene, DeedKind kind) {
  Deed deed{.kind = kind, .rank = scene.rank};
  deed.only_step = std::max(2, scene.plant.job.steps / 2 + scene.random.integer(-1, 2));
  return deed;
}

void blocked(const FaultScene& scene, FaultOutcome& outcome, const Deed& deed) {
  scene.plant.deeds.push_back(deed);
  blame_rank(scene, outcome);
  outcome.hangs = true;
}

void stuck(const FaultScene& scene, FaultOutcome& outcome) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kNames{
      {{"data/lockfile.py", "acquire"}, {"rpc/store.py", "wait_for_key"}, {"io/cache.py", "refill"}}};
  Deed deed = once(scene, DeedKind::kHang);
  const auto& [file, function] = scene.random.pick(kNames);
  deed.frames = {project_frame(scene, file, function), "threading.py(327): wait"};
  blocked(scene, outcome, deed);
  outcome.function_regex = std::string(function) + "|wait";
}

void dead(const FaultScene& scene, FaultOutcome& outcome) { blocked(scene, outcome, once(scene, DeedKind::kDie)); }
void stopped(const FaultScene& scene, FaultOutcome& outcome) { blocked(scene, outcome, once(scene, DeedKind::kStop)); }

void mismatch(const FaultScene& scene, FaultOutcome& outcome) {
  Deed deed = once(scene, DeedKind::kMismatch);
  deed.factor = 0.5;
  blocked(scene, outcome, deed);
}

constexpr std::array kFaults{
    FaultKind{"blocked.rank",
              "a rank waits for something in Python; the others wait in a collective",
              {.replicas = true},
              stuck},
    FaultKind{"blocked.process_dead", "a rank's process dies", {.replicas = true}, dead},
    FaultKind{"blocked.process_stopped", "a rank's process is stopped by a signal", {.replicas = true}, stopped},
    FaultKind{"blocked.mismatch", "a rank calls a collective with another size", {.replicas = true}, mismatch},
};

}  // namespace

std::span<const FaultKind> blocking_faults() { return kFaults; }

}  // namespace eroica
