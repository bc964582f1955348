#pragma once

#include <string>

#include "simulate/host_clock.h"
#include "simulate/timeline.h"
#include "simulate/window_span.h"

namespace eroica {

/// The process ids of a rank as its trace shows them.
int process_id(const Plant& plant, int rank);

/// A rank's window as Kineto writes it, uncompressed.
std::string kineto_trace(const Plant& plant, const JobProgram& program, const Timeline& timeline, int rank,
                         const WindowSpan& window);

}  // namespace eroica
