#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "sample/thread_switches.h"

namespace eroica {

/// Switches of these threads as the kernel records them (perf_event_open): of all CPUs where this process may see them,
/// which tells who ran instead, else of the threads alone.
std::unique_ptr<SwitchFeed> perf_switches(const std::vector<pid_t>& threads);

/// The same of the threads alone, whatever the rights.
std::unique_ptr<SwitchFeed> perf_thread_switches(const std::vector<pid_t>& threads);

}  // namespace eroica
