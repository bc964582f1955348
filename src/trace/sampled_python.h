#pragma once

#include "trace/trace.h"

namespace eroica {

/// Adds Python functions that were sampled from outside (`sampled`: a trace of them alone, properly nested) to the
/// main thread of a trace that has none. Samples come some milliseconds apart, so that a function may seem to begin or
/// end amid what the thread did otherwise: it is taken to begin behind that, or to end before it, unless most of it
/// lies inside. False, and nothing is added, where the main thread is not told or has Python functions already.
/// Both traces must be sorted; the result is.
bool add_sampled_python(Trace& trace, const Trace& sampled);

}  // namespace eroica
