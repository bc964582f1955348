#pragma once

#include "simulate/timeline.h"

namespace eroica {

/// Plays a program on a plant: hosts issue, streams run in order, collectives wait for their last member.
/// `batch_load_ns` is what a dataloader's worker needs for one batch.
Timeline play(const Plant& plant, const JobProgram& program, double batch_load_ns);

}  // namespace eroica
