#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/job.h"

namespace eroica {

/// Ranks that ought to behave alike.
struct PeerSet {
  std::string name;             ///< "all ranks", "stage 1", "stage 1 on NVIDIA A100"
  std::string why;              ///< what made them peers
  std::vector<uint32_t> ranks;  ///< indices in Job::ranks, ascending
  int32_t stage = 0;            ///< position in the pipeline
};

struct Peers {
  std::vector<PeerSet> sets;
  std::vector<uint32_t> set_of;  ///< by index in Job::ranks
  int32_t stages = 1;            ///< of the pipeline; 1 = none
  double micro_batches = 1;      ///< a step, at least 1
  bool certain = true;           ///< false: no group says who does the same work, the ranks' functions had to
};

/// Derives peer groups. Ranks along a pipeline (`pipeline_links`) are in different stages; ranks joined by any other
/// collective are in the same one (data, tensor, expert and context parallel ranks run the same program), unless the
/// collective spans stages (norms, embeddings). Stages are numbered along the pipeline, those that nobody saw as well
/// (`order_stages`). Without pipeline all ranks are peers, but for those that run a different program and that no
/// collective of data joins with the rest: actors and rollouts, an encoder beside a language model. Where a pipeline's
/// groups are not known, ranks with the same functions as often are peers. Ranks on different models of accelerator are
/// none.
Peers find_peers(const Job& job);

}  // namespace eroica
