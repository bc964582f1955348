#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "steps/policy.h"

namespace eroica {

/// Why no window is taken.
enum class WindowDenial : uint8_t {
  kNone,      ///< one is taken
  kCooldown,  ///< the last was too short a time ago
  kBudget,    ///< enough was profiled within the last hour
  kHours,     ///< not at this time of the day
  kJob,       ///< not this job
};
std::string_view window_denial_name(WindowDenial denial);

/// How long a window should be: about ten steps, and at most `most_s`. Where time is lost to stalls that lie so far
/// apart, it has two of them in it for sure, or, where even `most_s` is too short for one, as much longer as one needs.
/// `step_s`, `stall_spacing_s` ≤ 0: unknown.
double window_length_s(double step_s, double stall_spacing_s, double most_s);

struct WindowGrant {
  WindowDenial denied = WindowDenial::kNone;
  double length_s = 0;  ///< where it is granted
};

/// Grants windows within a policy's bounds.
class WindowBudget {
 public:
  WindowBudget(const WindowPolicy& policy, const EligiblePolicy& eligible, bool job_is_eligible)
      : policy_(policy), eligible_(eligible), job_is_eligible_(job_is_eligible) {}

  enum class Reason : uint8_t {
    kBaseline,  ///< needs the cooldown itself and asks none of those that follow
    kAlarm,
    kUrgent,  ///< needs no cooldown
  };
  /// Asks for a window of `wanted_s` now; a granted one is spent. One that is longer than the policy's usual length is
  /// granted shorter, down to that length, where the budget has no more.
  WindowGrant ask(int64_t now_ns, int64_t unix_ns, Reason reason, double wanted_s);
  /// The window that was granted last is so long in the end; 0: it is not taken.
  void correct_last(double length_s);
  /// Profiled seconds within the hour before now.
  [[nodiscard]] double spent_s(int64_t now_ns) const;

 private:
  WindowPolicy policy_;
  EligiblePolicy eligible_;
  bool job_is_eligible_;
  struct Granted {
    int64_t at_ns;
    double length_s;
    bool baseline;
  };
  [[nodiscard]] WindowDenial refusal(int64_t now_ns, int64_t unix_ns, Reason reason) const;
  std::deque<Granted> granted_;
};

}  // namespace eroica
