#pragma once

#include <cstdint>

namespace eroica {

int64_t monotonic_ns();
int64_t unix_ns();
/// CPU time of the calling thread.
int64_t thread_cpu_ns();

}  // namespace eroica
