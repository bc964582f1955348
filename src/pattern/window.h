#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/bundle.h"
#include "trace/trace.h"

namespace eroica {

/// The parts of [start, end] of the trace's axis that lie in the window, since its start.
struct WindowClip {
  int64_t start_ns;
  int64_t end_ns;
  /// False when the event lies outside; an event of no duration on the window's edge lies inside.
  [[nodiscard]] bool clip(const Event& event, int64_t& from_ns, int64_t& to_ns) const;
};

/// The window of a sorted trace: the one that bundle.json names if it meets the trace, else from the first event's
/// start to the last event's start (the profiler's own span is no event of the job). What is odd about it is told in
/// `notes`.
WindowClip window_of(const Trace& trace, const std::optional<WindowSpec>& named, std::vector<std::string>& notes);

}  // namespace eroica
