#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/plant.h"
#include "simulate/random.h"

namespace eroica {

/// A fault as the user asks for it: ID[:strength][:moving][:every=N][@target].
struct FaultWish {
  std::string id;
  std::optional<double> strength;  ///< 0 … 1
  bool moving = false;
  int every = 0;       ///< 0: as the fault has it
  std::string target;  ///< "2" or "rank2", "host1" (its index) or a host's name; empty: drawn
};
/// Error kInvalid, says what is wrong.
Result<FaultWish> parse_fault(std::string_view text);

/// How long things take in the same job without a fault: what a fault's size is measured by.
struct HealthyFacts {
  double step_ns = 1e8;
  double host_ns = 5e7;           ///< of a step in which the main thread works rather than waits
  double communication_ns = 1e7;  ///< per step and rank in transfers between hosts
  double nvlink_ns = 1e7;         ///< the same within hosts
  double launches = 1000;         ///< of kernels and copies, per step and rank
};

/// What a fault did, for truth.json.
struct FaultOutcome {
  std::string cause = {};
  std::vector<std::string> accept = {};
  std::vector<int> ranks = {};
  bool ranks_judged = true;
  std::vector<int> hosts = {};
  bool hosts_judged = true;
  std::string scope = "ranks";      ///< "ranks", "host", "link", "all"
  std::string function_regex = {};  ///< empty: not judged
  bool benign = false;              ///< no claim is the right answer
  bool wants_baseline = false;      ///< only the job's own history tells
  bool hangs = false;
};

/// What a fault acts on.
struct FaultScene {
  Plant& plant;
  const HealthyFacts& facts;
  const FaultWish& wish;
  double strength;
  Random& random;
  int rank;  ///< the target, drawn where the wish names none
  int host;
};

struct FaultKind {
  std::string_view id;
  std::string_view what;  ///< for --list-faults
  JobNeeds needs;
  void (*apply)(const FaultScene&, FaultOutcome&);
};

/// Every fault there is, in the taxonomy's order, benign cases last.
std::span<const FaultKind> fault_kinds();
const FaultKind* find_fault(std::string_view id);

/// Needs of several faults together.
JobNeeds merge_needs(const JobNeeds& a, const JobNeeds& b);

/// Lets a fault act on the plant. Error kInvalid: a target that the job does not have.
Result<FaultOutcome> apply_fault(Plant& plant, const HealthyFacts& facts, const FaultWish& wish,
                                 double default_strength, Random& random);

// The kinds by subject; fault_kinds() joins them.
std::span<const FaultKind> gpu_faults();
std::span<const FaultKind> network_faults();
std::span<const FaultKind> host_faults();
std::span<const FaultKind> software_faults();
std::span<const FaultKind> blocking_faults();
std::span<const FaultKind> benign_cases();

}  // namespace eroica
