#pragma once

#include <string>

#include "agent/watch_cost.h"

namespace eroica {

/// "20 µs a step (0.14 %) on each rank, 0.1 % of a core here"; empty: nothing is known.
std::string in_words(const WatchCost& cost);

}  // namespace eroica
