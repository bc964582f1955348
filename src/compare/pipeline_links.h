#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compare/job.h"

namespace eroica {

/// The exchanges of a job that are a pipeline's. Ring attention and experts exchange messages as well, within a stage.
struct PipelineLinks {
  std::vector<std::pair<int32_t, int32_t>> neighbours;  ///< ranks, the smaller first; ascending, each pair once
  std::vector<bool> carries;      ///< by Job::groups: what is sent in it goes along the pipeline, as far as is known
  bool unknown_partners = false;  ///< messages are exchanged, and nobody knows with whom
};

/// A group's description decides; without one, messages go along a pipeline unless they go round a ring, or from each
/// to each, of three ranks and more that all run the same functions as often (one may be odd): a pipeline's ends
/// differ. Of two ranks that send to each other nothing but a description tells.
PipelineLinks pipeline_links(const Job& job);

}  // namespace eroica
