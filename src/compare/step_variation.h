#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/job.h"
#include "compare/peers.h"
#include "compare/subject.h"

namespace eroica {

/// How the ranks of one peer set vary from step to step, each against the others in the same step: in the device
/// compute that a step launched where that is known, else in their own time.
struct StepVariation {
  size_t steps = 0;  ///< that all aligned ranks have; 0 = not aligned
  double moving_share =
      0;  ///< of a step: what the slowest rank of each step costs beyond the slowest rank of all steps
  double work_correlation = 0;  ///< of own time and work, over steps and ranks, each rank's and step's mean taken out
  size_t slowest_ranks = 0;     ///< how many different ranks are the slowest of some step
  std::string why;              ///< in words: how steps were aligned, or why not
};

/// Steps are aligned by number where they carry the job's (ProfilerStep#N), else by the durations' own fingerprint:
/// all ranks of a set take equally long over one step, so the right shift is the one at which durations differ least.
/// A shift is believed when at any other the mean difference is at least 1.5 times as large; where all steps are
/// alike no shift is better than none, and equally many steps are taken as they are.
StepVariation step_variation(const Job& job, const PeerSet& set);

/// How a subject's excess is spread over its own regular steps.
struct Bursts {
  size_t steps = 0;
  double burst_share = 0;   ///< share of the excess above the median step in the worst tenth (at least one step)
  double spike_ratio = 1;   ///< mean of the worst tenth over the median step
  double period_steps = 0;  ///< distance of the spikes where it is always about the same, else 0
};
Bursts bursts(const Job& job, const Subject& subject);

/// The share of a rank's regular steps that did the work of several, as when a step is computed again before the
/// optimizer goes on: both work and time (of the device compute that the step launched, of the step itself on the CPU)
/// are the same whole multiple of the usual. NaN: too few steps, or their work does not come in multiples.
double repeated_share(const Job& job, const RankFacts& rank);

}  // namespace eroica
