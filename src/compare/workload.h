#pragma once

#include "compare/job.h"

namespace eroica {

/// Sets what a function's name tells about it: workload, user_code, waits, simt, scalar. `function.kind` must be set.
void classify(const FunctionName& name, JobFunction& function);

}  // namespace eroica
