#pragma once

#include <string>
#include <vector>

namespace eroica {

/// "PID-RANDOM" of each probe that has a socket in the folder, in no order; 10,000 at most.
std::vector<std::string> probes_in(const std::string& sockets);

}  // namespace eroica
