#include "agent/window_ring.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace eroica {
namespace {

constexpr double kBytesOfGb = 1e9;
constexpr double kNsOfDay = 86'400e9;
constexpr std::string_view kTime = "00000000T000000Z-";

}  // namespace

std::string kept_name(std::string_view window, int64_t unix_ns) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(static_cast<std::time_t>(unix_ns / 1'000'000'000)), window);
}

bool is_kept_name(std::string_view name, std::string_view thing) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.size() <= kTime.size() + thing.size() || !name.substr(kTime.size()).starts_with(thing)) return false;
  for (size_t i = 0; i < kTime.size(); ++i) {
    if (kTime[i] == '0' ? !is_digit(name[i]) : name[i] != kTime[i]) return false;
  }
  return std::ranges::all_of(name.substr(kTime.size() + thing.size()), is_digit);
}

std::vector<std::string> windows_to_remove(std::vector<KeptWindow> kept, uint64_t coming_bytes, uint64_t free_bytes,
                                           const KeepPolicy& policy, int64_t now_unix_ns) {
  std::ranges::sort(kept, {}, [](const KeptWindow& window) { return std::pair(window.unix_ns, window.name); });
  auto count = static_cast<double>(kept.size()) + (coming_bytes > 0 ? 1 : 0);
  auto total = static_cast<double>(coming_bytes);
  for (const KeptWindow& window : kept) total += static_cast<double>(window.bytes);
  double free = static_cast<double>(free_bytes) - static_cast<double>(coming_bytes);
  std::vector<std::string> remove;
  for (const KeptWindow& window : kept) {
    const bool is_old = static_cast<double>(now_unix_ns - window.unix_ns) > policy.most_days * kNsOfDay;
    const bool is_too_much = count > policy.most_windows || total > policy.most_gb * kBytesOfGb;
    if (!is_old && !is_too_much && free >= policy.leave_free_gb * kBytesOfGb) break;
    remove.push_back(window.name);
    count -= 1;
    total -= static_cast<double>(window.bytes);
    free += static_cast<double>(window.bytes);
  }
  return remove;
}

}  // namespace eroica
