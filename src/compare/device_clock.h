#pragma once

#include <string_view>

namespace eroica {

/// The highest clock of the multiprocessors by the vendor's data sheet, in Hz, for models that training uses; 0 = not
/// known. `device` is the name that the driver tells ("NVIDIA A100-SXM4-80GB").
double boost_clock_hz(std::string_view device);

}  // namespace eroica
