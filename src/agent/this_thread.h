#pragma once

namespace eroica {

/// Lets others go first: the calling thread displaces nobody when it wakes up (SCHED_BATCH), and has this nice value.
void give_way(int nice);

}  // namespace eroica
