#pragma once

#include <string>
#include <vector>

#include "steps/step_finder.h"
#include "trace/trace.h"

namespace eroica {

struct Marks {
  std::vector<Mark> marks;   ///< by start
  bool from_marker = false;  ///< kStep marks come from `step_marker`
  uint32_t main_track = 0;   ///< index in Trace::tracks of the thread that drives the training loop
  bool has_main_track = false;
  MarkNames names;  ///< of the marks, for people
};

/// The marks of one trace: ProfilerStep#N (host side only), Optimizer.step#…, enumerate(DataLoader)#… annotations,
/// dataloader `__next__` Python frames where no annotation tells of them, and annotations or Python functions that
/// `step_marker` (a name, or a prefix ending in '*') names; a Python function by its name or by its whole text. Where
/// the marker matches, ProfilerStep marks are left out; where it matches nothing, they are used as if none was given.
/// Overlapping doubles of one call (annotation inside frame, an optimizer of the same name inside another, a loader
/// that wraps a loader) count once. Steps come from one track, the one with most of their time. The main track is the
/// host thread with most of the marks' time, else the process's first thread, else the one with most events.
Marks extract_marks(const Trace& trace, const std::string& step_marker);

/// find_steps of these marks, with their names in the note.
Steps find_steps(const Marks& marks, StepOptions options);

}  // namespace eroica
