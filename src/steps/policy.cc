#include "steps/policy.h"

#include <algorithm>
#include <string_view>

namespace eroica {
namespace {

/// Linear in the text for each star; no recursion.
bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool is_eligible(const EligiblePolicy& policy, const std::string& job) {
  return std::ranges::any_of(policy.jobs, [&](const std::string& pattern) { return matches(pattern, job); });
}

bool is_eligible_at(const EligiblePolicy& policy, int64_t unix_ns) {
  constexpr int64_t kMinuteNs = 60'000'000'000;
  constexpr int64_t kDay = int64_t{24} * 60;
  const int64_t minute = (unix_ns / kMinuteNs % kDay + kDay) % kDay;
  return std::ranges::any_of(policy.hours_utc, [&](const HourRange& range) {
    if (range.from_minute < range.to_minute) return minute >= range.from_minute && minute < range.to_minute;
    return minute >= range.from_minute || minute < range.to_minute;
  });
}

}  // namespace eroica
