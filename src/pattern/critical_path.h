#pragma once

#include "pattern/attribution.h"
#include "pattern/device_work.h"
#include "pattern/function_slots.h"
#include "pattern/host_walk.h"
#include "pattern/segments.h"
#include "pattern/window.h"
#include "steps/marks.h"
#include "trace/trace.h"

namespace eroica {

/// Books every instant of the window to what explains the rank's progress (after EROICA, NSDI '26, section on the
/// critical path): device compute, else memory operations, else collectives, else what the host was doing: the
/// threads that launch work, then the thread that drives the training loop, split into launching, waiting for the
/// device, fetching data and Python. On CPU jobs operators are the compute; those inside a dataloader fetch are input
/// work and booked as dataloader. `fetches`: those of the main thread, disjoint, since the window's start.
/// Walks all host threads with `walk` (whose results serve issuers), sorts work.runs and fills their exposed_ns;
/// consumes work.compute and work.memory.
void book_critical_path(const Trace& trace, const WindowClip& window, const Marks& marks,
                        const std::vector<Segment>& fetches, DeviceWork& work, HostWalk& walk, FunctionSlots& slots,
                        Attribution& attribution);

}  // namespace eroica
