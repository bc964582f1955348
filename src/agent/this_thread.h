#pragma once

#include <cstdint>

namespace eroica {

int64_t monotonic_ns();
int64_t unix_ns();
/// CPU time of the calling thread.
int64_t thread_cpu_ns();

/// Lets others go first: the calling thread displaces nobody when it wakes up (SCHED_BATCH), and has this nice value.
void give_way(int nice);

}  // namespace eroica
