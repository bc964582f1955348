#include "steps/window_budget.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr double kHourS = 3600;

constexpr double kSteps = 10;
constexpr double kLeastS = 3;
constexpr double kUnknownS = 5;
constexpr double kForTwoStalls = 2.5;  // spacings; the window begins anywhere between two
constexpr double kForOneStall = 1.25;
constexpr double kMostTimesLonger = 3;

double seconds_between(int64_t from_ns, int64_t to_ns) {
  return (static_cast<double>(to_ns) - static_cast<double>(from_ns)) * 1e-9;
}

}  // namespace

std::string_view window_denial_name(WindowDenial denial) {
  switch (denial) {
    case WindowDenial::kNone:
      return "";
    case WindowDenial::kCooldown:
      return "cooldown";
    case WindowDenial::kBudget:
      return "budget";
    case WindowDenial::kHours:
      return "hours";
    case WindowDenial::kJob:
      return "job";
  }
  return "";
}

double window_length_s(double step_s, double stall_spacing_s, double most_s) {
  const double steps_s = step_s > 0 ? std::max(kSteps * step_s, kLeastS) : kUnknownS;
  const double one_stall_s = std::min(kForOneStall * stall_spacing_s, kMostTimesLonger * most_s);
  return std::max(one_stall_s, std::min(std::max(steps_s, kForTwoStalls * stall_spacing_s), most_s));
}

double WindowBudget::spent_s(int64_t now_ns) const {
  double spent_s = 0;
  for (const Granted& window : granted_) {
    if (seconds_between(window.at_ns, now_ns) < kHourS) spent_s += window.length_s;
  }
  return spent_s;
}

WindowDenial WindowBudget::refusal(int64_t now_ns, int64_t unix_ns, Reason reason) const {
  if (!job_is_eligible_) return WindowDenial::kJob;
  if (!is_eligible_at(eligible_, unix_ns)) return WindowDenial::kHours;
  for (const Granted& window : granted_) {
    // One that is still being taken serves whoever asks.
    const bool cools = reason == Reason::kBaseline || (reason == Reason::kAlarm && !window.baseline);
    const double apart_s = cools ? std::max(policy_.cooldown_s, window.length_s) : window.length_s;
    if (seconds_between(window.at_ns, now_ns) < apart_s) return WindowDenial::kCooldown;
  }
  return WindowDenial::kNone;
}

WindowGrant WindowBudget::ask(int64_t now_ns, int64_t unix_ns, Reason reason, double wanted_s) {
  while (!granted_.empty() && seconds_between(granted_.front().at_ns, now_ns) >= std::max(kHourS, policy_.cooldown_s)) {
    granted_.pop_front();
  }
  if (const WindowDenial denied = refusal(now_ns, unix_ns, reason); denied != WindowDenial::kNone) return {denied, 0};
  const double left_s = policy_.budget_s_per_hour - spent_s(now_ns);
  if (left_s < std::min(wanted_s, policy_.length_s)) return {WindowDenial::kBudget, 0};
  const double length_s = std::min(wanted_s, left_s);
  granted_.push_back({now_ns, length_s, reason == Reason::kBaseline});
  return {WindowDenial::kNone, length_s};
}

void WindowBudget::correct_last(double length_s) {
  if (granted_.empty()) return;
  granted_.back().length_s = length_s;
  if (length_s <= 0) granted_.pop_back();
}

}  // namespace eroica
