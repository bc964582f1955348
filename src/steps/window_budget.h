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
  /// Asks for a window now; a granted one is spent.
  WindowDenial ask(int64_t now_ns, int64_t unix_ns, Reason reason);
  /// Profiled seconds within the hour before now.
  [[nodiscard]] double spent_s(int64_t now_ns) const;

 private:
  WindowPolicy policy_;
  EligiblePolicy eligible_;
  bool job_is_eligible_;
  struct Granted {
    int64_t at_ns;
    bool baseline;
  };
  std::deque<Granted> granted_;
};

}  // namespace eroica
