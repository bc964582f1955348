#pragma once

#include <vector>

#include "simulate/program.h"

namespace eroica {

/// The communicators of a job, and which of them a rank uses; −1: none of that kind.
struct Groups {
  std::vector<Communicator> all;                                               ///< [0] holds every rank
  std::vector<int> tensor, data, expert, context, next_stage, previous_stage;  ///< by rank
};

Groups make_groups(const JobSpec& job);

}  // namespace eroica
