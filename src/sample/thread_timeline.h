#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sample/process_text.h"
#include "sample/thread_switches.h"

namespace eroica {

/// What a thread did since the time of the one before, as shares of that time. The rest it waited for something else
/// than a CPU.
struct ThreadShares {
  int64_t end_ns = 0;  ///< of the monotonic clock
  double run = 0;
  double preempted = 0;    ///< it could have run on, but another one was given its CPU
  double wakeup_wait = 0;  ///< it had what it waited for, but did not run yet
};

/// A thread's switches and what the scheduler booked for it (schedstat), put together. Switches tell exactly when it
/// ran and when it was preempted; not when it was woken, so that of the time off its CPU the scheduler's sum of
/// waits, less what it was preempted, is put at the ends.
class ThreadTimeline {
 public:
  /// It is told in steps of `bin_ns`, or in longer ones where nothing changes.
  ThreadTimeline(int64_t begin_ns, int64_t bin_ns) : bin_ns_(bin_ns), bin_begin_ns_(begin_ns), told_ns_(begin_ns) {}

  /// In order.
  void add(const Switch& one);
  /// Switches were lost: of the time since the last booking the sums are used.
  void lose() { is_damaged_ = true; }
  /// What is booked so far; `now_ns` after all switches that were added.
  void book(int64_t now_ns, const SchedStat& booked);
  /// Nothing follows.
  void finish(int64_t now_ns);

  /// What became known since the last time.
  std::vector<ThreadShares> take();
  /// For how long other processes ran while it waited for a CPU, as far as that is told.
  [[nodiscard]] const std::map<pid_t, int64_t>& waited_for() const { return waited_for_; }

 private:
  enum class State : uint8_t { kUnknown, kRuns, kPreempted, kOff };
  struct Stretch {
    int64_t end_ns = 0;
    State state{};
    pid_t first_other = -1;      // who came instead
    pid_t last_other = -1;       // who went before
    int64_t wakeup_wait_ns = 0;  // at its end
  };
  void end_stretch(int64_t end_ns, State was, pid_t last_other);
  void place_waits(int64_t wait_ns);
  void tell_stretches();
  void tell(int64_t end_ns, double run, double preempted, double wakeup_wait);
  void end_bin(int64_t end_ns);
  void charge(pid_t other, int64_t ns);

  int64_t bin_ns_;
  int64_t bin_begin_ns_;
  int64_t told_ns_;   // until then
  ThreadShares bin_;  // ns, not shares
  std::vector<ThreadShares> shares_;
  std::vector<Stretch> stretches_;  // ended, not told yet
  State state_ = State::kUnknown;
  pid_t first_other_ = -1;
  bool is_damaged_ = false;
  std::optional<SchedStat> booked_;
  uint64_t first_run_ns_ = 0;
  int64_t unplaced_wait_ns_ = 0;
  std::map<pid_t, int64_t> waited_for_;
};

}  // namespace eroica
