#pragma once

#include <string>

namespace eroica {

/// This host's, as the kernel has it; empty where it cannot be had.
std::string this_host();

}  // namespace eroica
