#pragma once

#include <span>

#include "pattern/collectives.h"
#include "pattern/device_work.h"
#include "pattern/function_slots.h"
#include "pattern/pattern.h"
#include "pattern/window.h"
#include "steps/marks.h"
#include "steps/step_finder.h"
#include "trace/trace.h"

namespace eroica {

// How a window ended (RankPattern::end). Whether the job is blocked only all ranks together tell; a rank notes what is
// needed for that where its window ended quietly: where for half a step and longer its device, or on CPU jobs its
// host, began nothing.

/// Fills in until when the rank was observed and when its last event ended. `named`: the window is one that the bundle
/// names; else the rank was observed for as long as the profiler says.
void begin_window_end(const Trace& trace, const WindowClip& window, bool named, const Steps& steps,
                      RankPattern& pattern);

/// Adds the first collective of each group that had not ended: one that runs on to the end, or one whose call launched
/// something that no device event answers (profilers list work when it has ended) behind the last one that ended.
void fill_open_collectives(const Trace& trace, const WindowClip& window, const DeviceWork& work, CollectiveTable& table,
                           CollectiveKinds& kinds, RankPattern& pattern);

/// Adds where the main thread's Python code stood.
void add_final_frames(const Trace& trace, const WindowClip& window, const Marks& marks, FunctionSlots& slots,
                      NameTable& names, RankPattern& pattern);

/// Adds how much CPU time the process used since then.
void add_final_cpu(std::span<const SampleSeries* const> series, int64_t base_unix_ns, RankPattern& pattern);

}  // namespace eroica
