#pragma once

#include <vector>

#include "simulate/physics.h"
#include "simulate/timeline.h"

namespace eroica {

/// The core on which a rank's training loop runs: tells when work ends, and keeps what the thread did meanwhile.
class CoreClock {
 public:
  CoreClock(const Plant& plant, int rank);

  /// When work that begins at `t` and needs so much time of a healthy core ends.
  int64_t work(int64_t t, int64_t ns) { return run(t, ns, HostActivity::kRun, false); }
  /// Work that also needs the interpreter's lock.
  int64_t interpreted(int64_t t, int64_t ns) { return run(t, ns, HostActivity::kRun, true); }
  int64_t pause(int64_t t, int64_t ns) { return run(t, ns, HostActivity::kPause, false); }
  /// A thread that spun since `since` sees at `t` that it may go on; with a quota it may be stopped by then.
  int64_t wake(int64_t since, int64_t t);
  void note(int64_t start, int64_t end, HostActivity activity);
  std::vector<HostInterval> take() { return std::move(intervals_); }

 private:
  int64_t run(int64_t t, int64_t ns, HostActivity activity, bool interpreted);
  int64_t throttle(int64_t t);

  Slices stolen_;
  Slices interpreter_;
  double cost_;  ///< time of one unit of work
  double quota_cores_;
  double burn_;          ///< cores that the process uses while the main thread runs
  int64_t period_ = -1;  ///< of the quota
  double used_ns_ = 0;
  std::vector<HostInterval> intervals_;
};

}  // namespace eroica
