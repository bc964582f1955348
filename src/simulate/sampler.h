#pragma once

#include <span>
#include <string>

#include "simulate/timeline.h"
#include "simulate/window_span.h"

namespace eroica {

/// What the samplers on a host would have read in the window: its GPUs, ranks, NICs, disk and itself. Everything
/// follows from the timeline and the state of the plant, with the noise of sensors. Metrics that match a pattern in
/// `dropped` were not sampled.
std::string host_samples(const Plant& plant, const JobProgram& program, const Timeline& timeline, int host,
                         const WindowSpan& window, std::span<const std::string> dropped);

}  // namespace eroica
