#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

/// A thread goes onto a CPU or off it.
struct Switch {
  enum class Kind : uint8_t {
    kOn,
    kOff,        ///< it waits for something
    kPreempted,  ///< it could have run on
  };
  int64_t at_ns = 0;  ///< of the monotonic clock
  Kind kind{};
  pid_t tid = -1;
  pid_t other_pid = -1;  ///< the process that ran before it, or runs after it; 0: none, −1: not told
};

/// What a ring of perf_event_open() told: records of PERF_RECORD_SWITCH and its like, each followed by the thread, the
/// time and the CPU. `records` ends with a whole record. Appends to `into`; gives how many records the kernel says that
/// it lost, damaged ones included.
uint64_t decode_switches(std::string_view records, std::vector<Switch>& into);

/// Tells of the switches of some threads.
class SwitchFeed {
 public:
  SwitchFeed() = default;
  SwitchFeed(const SwitchFeed&) = delete;
  SwitchFeed& operator=(const SwitchFeed&) = delete;
  virtual ~SwitchFeed() = default;

  /// Appends those of the time until `until_ns`, of the monotonic clock, that were not taken before, by time. False:
  /// some of them were lost.
  virtual bool take(int64_t until_ns, std::vector<Switch>& into) = 0;
  /// Records that were lost so far.
  [[nodiscard]] virtual uint64_t lost() const = 0;
  [[nodiscard]] virtual bool tells_of(pid_t tid) const = 0;
  /// It says who ran instead.
  [[nodiscard]] virtual bool tells_others() const = 0;
  /// Why it does not tell all of that; empty: it does.
  [[nodiscard]] virtual const std::string& problem() const = 0;
};

}  // namespace eroica
