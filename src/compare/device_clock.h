#pragma once

#include <string_view>
#include <vector>

#include "compare/job.h"

namespace eroica {

/// The highest clock of the multiprocessors by the vendor's data sheet, in Hz, for models that training uses; 0 = not
/// known. `device` is the name that the driver tells ("NVIDIA A100-SXM4-80GB").
double boost_clock_hz(std::string_view device);

/// By rank: how far its GPU's mean clock is below the highest that its model reaches or that any of the model showed,
/// as a share; 0 where it was not sampled.
std::vector<double> clock_deficits(const Job& job);

}  // namespace eroica
