#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compare/blocked.h"
#include "compare/device_clock.h"
#include "compare/job.h"
#include "compare/kernel_speed.h"
#include "compare/peers.h"
#include "compare/step_variation.h"
#include "compare/transfers.h"
#include "compare/what_if.h"

namespace eroica {

/// A job's window with everything that comparisons start from. `job` and `names` must outlive it.
struct Comparison {
  Comparison(const Job& of_job, const NameTable& of_names, std::vector<JoinedCollective> of_joined = {})
      : job(&of_job),
        names(&of_names),
        peers(find_peers(of_job)),
        index(of_job),
        model(of_job, peers),
        transfers(eroica::transfers(of_job)),
        joined(std::move(of_joined)),
        exposed_transfers(eroica::exposed_transfers(of_job, joined)),
        blocked(find_blocked(of_job, of_names)),
        clock_deficits(eroica::clock_deficits(of_job)) {
    variation.reserve(peers.sets.size());
    for (const PeerSet& set : peers.sets) variation.push_back(step_variation(of_job, set));
  }
  Comparison(const Comparison&) = delete;  // the model refers to the peers
  Comparison& operator=(const Comparison&) = delete;

  const Job* job;
  const NameTable* names;
  Peers peers;
  FunctionIndex index;
  StepModel model;
  std::vector<Transfer> transfers;
  std::vector<JoinedCollective> joined;
  std::vector<double> exposed_transfers;  ///< by rank
  std::optional<BlockedJob> blocked;      ///< the window ends in a hang
  std::vector<double> clock_deficits;     ///< by rank
  std::vector<StepVariation> variation;   ///< by peer set
};

}  // namespace eroica
