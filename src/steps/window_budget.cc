#include "steps/window_budget.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr double kHourS = 3600;

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

double WindowBudget::spent_s(int64_t now_ns) const {
  const auto within = std::ranges::count_if(
      granted_, [&](const Granted& window) { return seconds_between(window.at_ns, now_ns) < kHourS; });
  return static_cast<double>(within) * policy_.length_s;
}

WindowDenial WindowBudget::ask(int64_t now_ns, int64_t unix_ns, Reason reason) {
  if (!job_is_eligible_) return WindowDenial::kJob;
  if (!is_eligible_at(eligible_, unix_ns)) return WindowDenial::kHours;
  while (!granted_.empty() && seconds_between(granted_.front().at_ns, now_ns) >= std::max(kHourS, policy_.cooldown_s)) {
    granted_.pop_front();
  }
  for (const Granted& window : granted_) {
    // One that is still being taken serves whoever asks.
    const bool cools = reason == Reason::kBaseline || (reason == Reason::kAlarm && !window.baseline);
    const double apart_s = cools ? std::max(policy_.cooldown_s, policy_.length_s) : policy_.length_s;
    if (seconds_between(window.at_ns, now_ns) < apart_s) return WindowDenial::kCooldown;
  }
  if (spent_s(now_ns) + policy_.length_s > policy_.budget_s_per_hour) return WindowDenial::kBudget;
  granted_.push_back({now_ns, reason == Reason::kBaseline});
  return WindowDenial::kNone;
}

}  // namespace eroica
