#pragma once

namespace eroica {

/// What watching a job costs it all the time, by the probes' and the watcher's own accounts since the watcher began.
struct WatchCost {
  double probe_us_per_step = -1;  ///< mean, of a rank; −1: no step was seen
  double probe_percent = -1;      ///< … of its step; −1: not known
  double watcher_percent = -1;    ///< of one core; −1: not known
};

}  // namespace eroica
