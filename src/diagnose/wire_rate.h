#pragma once

#include <optional>

#include "compare/comparison.h"
#include "compare/subject.h"

namespace eroica {

/// How much shorter transfers between hosts would be, as a part of their time, if they moved their bytes at the rate
/// that the interfaces are made for: by what the interfaces of the subject's hosts sent, in the time that transfers
/// took, beside the speed of the job's fastest interface. Absent: interfaces were not sampled, or no transfer is
/// between hosts.
std::optional<double> slow_wire_part(const Comparison& now, const Subject& subject);

}  // namespace eroica
