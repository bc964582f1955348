#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "steps/step_finder.h"
#include "trace/bundle.h"

namespace eroica {

// What the probe read at both edges of a window gives numbers to what the trace only orders. A number is given only
// where both edges agree on it.

/// Numbers the steps of a repeating sequence as the job does: the last step before each edge is the one that ended when
/// the probe says. False, and nothing is changed, where the steps are not such ones, or the probe counts others.
/// `base_unix_ns`: to add to the steps' times.
bool number_steps(const WindowEdges& edges, int64_t base_unix_ns, Steps& steps);

/// A collective of the trace.
struct CountedRun {
  int64_t called_unix_ns = INT64_MIN;  ///< of one on a device: when it was launched; INT64_MIN = before the trace
  int64_t ended_unix_ns = 0;
};

/// The sequence number of the first of a group's collectives, in their order; nullopt where the edges leave a doubt.
/// Those on the host are counted by those that had ended, as the recorder completes them at once; those on a device by
/// those that had been called for, since what was completed there is noticed late.
std::optional<int64_t> first_sequence(std::span<const CountedRun> runs, bool on_device, const WindowEdges& edges,
                                      const std::string& group, int64_t window_end_unix_ns);

}  // namespace eroica
