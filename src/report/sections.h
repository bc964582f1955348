#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/step_basis.h"

namespace eroica {

// The parts of a document's profile, each from the selected ranks in rank order.

/// `mean_ms`: the job's mean step where it is known already, else 0.
StepsSection steps_section(std::span<const RankView> ranks, double mean_ms);
TimeSection time_section(std::span<const RankView> ranks);
std::vector<CollectiveRow> collectives_section(std::span<const RankView> ranks,
                                               std::span<const JoinedCollective> joined);

/// All functions that match (see DocumentOptions::function), by mean exposed time, then total, then name.
/// Beyond `top` they are only counted in `left_out`.
struct FunctionsSection {
  std::vector<FunctionRow> rows;
  uint64_t left_out = 0;
};
FunctionsSection functions_section(std::span<const RankView> ranks, const NameTable& names, const std::string& wanted,
                                   size_t top);

DurationQuantiles duration_quantiles(const QuantileSketch& sketch, int64_t longest_ns);

}  // namespace eroica
