#pragma once

#include <cstdint>
#include <optional>

#include "compare/job.h"
#include "compare/peers.h"

namespace eroica {

/// How a pipeline's work is spread over its stages, as shares of the window.
struct StageBalance {
  int32_t longest = 0;  ///< the stage whose usual rank works most
  double excess = 0;    ///< of that stage above the mean stage
  double mean = 0;
  double spread = 0;  ///< between the ranks of the longest stage
};

/// What ranks do of their own: on GPUs what the devices do, since hosts are alike. Absent: no pipeline, or stages on
/// different models of accelerator, whose times do not compare.
std::optional<StageBalance> stage_balance(const Job& job, const Peers& peers);

}  // namespace eroica
