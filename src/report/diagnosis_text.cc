#include "report/diagnosis_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/rank_list.h"
#include "pattern/text.h"

namespace eroica {
namespace {

constexpr size_t kMostHosts = 3;
constexpr size_t kMostHeadlineBytes = 400;

std::string percent_text(double share) { return digits_text(share * 100) + " %"; }

std::string hosts_text(std::span<const std::string> hosts) {
  if (hosts.size() > kMostHosts) return fmt::format("{} hosts", hosts.size());
  return fmt::format("{}", fmt::join(hosts, ", "));
}

/// With the prefix that keeps it short: "1.25 GB/s".
std::string scaled_text(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 6> kPrefixes{"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{} {}{}", digits_text(value), kPrefixes[prefix], unit);
}

}  // namespace

std::string digits_text(double value) {
  if (!std::isfinite(value)) return "?";
  const double size = std::abs(value);
  if (size < 1e-9) return "0";
  if (size < 1e-3) return fmt::format("{:.2g}", value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text;
}

std::string amount_text(double value, const std::string& unit) {
  if (unit == "share" || unit == "fraction") return percent_text(value);
  if (unit == "hz") return scaled_text(value, "Hz");
  if (unit == "bytes") return scaled_text(value, "B");
  if (unit == "bytes_per_s") return scaled_text(value, "B/s");
  if (unit == "bits_per_s") return scaled_text(value, "bit/s");
  if (unit == "watts") return digits_text(value) + " W";
  if (unit == "celsius") return digits_text(value) + " C";
  if (unit == "ratio") return digits_text(value) + " times";
  if (unit == "per_s") return digits_text(value) + " a second";
  if (unit == "ms_per_step") return digits_text(value) + " ms a step";
  if (unit.empty() || unit == "count" || unit == "1") return digits_text(value);
  return digits_text(value) + " " + unit;
}

std::string some_of(std::span<const std::string> items, size_t most) {
  const size_t shown = std::min(items.size(), most);
  std::string text = fmt::format("{}", fmt::join(items.first(shown), ", "));
  if (items.size() > shown) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

std::string ranks_text(std::span<const int32_t> ranks) {
  std::string list = rank_list(ranks);
  if (!list.ends_with("...")) return list;
  constexpr std::string_view kWord = "ranks ";
  return fmt::format("{} ranks ({})", ranks.size(), list.substr(kWord.size()));
}

std::string where_text(const Diagnosis& diagnosis, std::span<const std::string> hosts) {
  if (!diagnosis.hosts.empty()) hosts = diagnosis.hosts;
  std::string text;
  if (!diagnosis.ranks.empty()) {
    text = ranks_text(diagnosis.ranks);
  } else if (diagnosis.scope == Scope::kAll) {
    text = "all ranks";
  }
  if (!hosts.empty()) {
    const std::string named = hosts_text(hosts);
    if (!text.empty()) {
      text += " on " + named;
    } else {
      text = hosts.size() > kMostHosts ? named : (hosts.size() == 1 ? "host " : "hosts ") + named;
    }
  }
  if (diagnosis.component.empty() || diagnosis.component == rank_list(diagnosis.ranks)) return text;
  return text.empty() ? diagnosis.component : fmt::format("{} ({})", text, diagnosis.component);
}

std::string lost_text(const Diagnosis& diagnosis, double step_ms) {
  if (!(diagnosis.lost_ms_per_step > 0)) return "";
  const std::string lost = amount_text(diagnosis.lost_ms_per_step, "ms");
  return step_ms > 0 ? fmt::format("{} of {} a step", lost, amount_text(step_ms, "ms")) : lost + " a step";
}

std::string gpu_time_text(double seconds_per_hour) {
  if (!(seconds_per_hour > 0)) return "";
  if (seconds_per_hour < 600) return digits_text(seconds_per_hour) + " GPU-s an hour";
  if (seconds_per_hour < 7200) return digits_text(seconds_per_hour / 60) + " GPU-min an hour";
  return digits_text(seconds_per_hour / 3600) + " GPU-h an hour";
}

std::string blocked_text(const Blocked& blocked) {
  std::string text = blocked.operation.empty() ? "a collective" : blocked.operation;
  if (blocked.sequence >= 0) text += fmt::format(" number {}", blocked.sequence);
  if (!blocked.group.empty()) text += " of group " + blocked.group;
  const std::string waiting = blocked.waiting.empty() ? "others" : ranks_text(blocked.waiting);
  const bool one = blocked.waiting.size() == 1;
  if (!blocked.missing.empty()) {
    text += fmt::format(": {} {} for {}", waiting, one ? "waits" : "wait", ranks_text(blocked.missing));
  } else {
    text += fmt::format(": {} {}, no rank is missing", waiting, one ? "waits" : "wait");
  }
  return text;
}

std::string headline(const Conclusion& conclusion, double step_ms) {
  std::string text;
  if (conclusion.blocked) text = "Blocked in " + blocked_text(*conclusion.blocked);
  if (!conclusion.diagnoses.empty()) {
    const Diagnosis& first = conclusion.diagnoses.front();
    if (!text.empty()) text += "; ";
    text += first.title.empty() ? first.cause : first.title;
    if (const std::string where = where_text(first); !where.empty()) text += fmt::format(" ({})", where);
    const std::string lost = lost_text(first, step_ms);
    text += lost.empty() ? ": " : fmt::format(": {} lost, ", lost);
    text += fmt::format("{:.0f} % sure", first.confidence * 100);
    const size_t more = conclusion.diagnoses.size() - 1;
    if (more > 0) text += fmt::format("; {} more {}", more, more == 1 ? "cause" : "causes");
  } else if (text.empty()) {
    text = "Nothing wrong was found";
    const size_t hints = conclusion.hints.size();
    if (hints > 0) text += fmt::format("; {} {}", hints, hints == 1 ? "hint" : "hints");
  }
  return clean_text(text, kMostHeadlineBytes);
}

}  // namespace eroica
