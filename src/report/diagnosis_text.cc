#include "report/diagnosis_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/rank_list.h"
#include "base/words.h"
#include "pattern/text.h"

namespace eroica {
namespace {

constexpr size_t kMostHosts = 3;
constexpr size_t kMostHeadlineBytes = 400;

std::string hosts_text(std::span<const std::string> hosts) {
  if (hosts.size() > kMostHosts) return fmt::format("{} hosts", hosts.size());
  return fmt::format("{}", fmt::join(hosts, ", "));
}

}  // namespace

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
