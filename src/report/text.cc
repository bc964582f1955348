#include "report/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/rank_list.h"
#include "report/text_sections.h"
#include "report/text_table.h"

namespace eroica {
namespace {

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string ranks_and_hosts(const Coverage& coverage) {
  std::string text;
  const auto expected = static_cast<uint64_t>(std::max(coverage.ranks_expected, 0));
  if (expected > coverage.ranks_seen) {
    text = fmt::format("{} of {} ranks", coverage.ranks_seen, expected);
  } else {
    text = counted(coverage.ranks_seen, "rank", "ranks");
  }
  if (coverage.hosts_seen > 0) text += " on " + counted(coverage.hosts_seen, "host", "hosts");
  return text;
}

/// "812", "132 k", "3.5 M".
std::string events_text(uint64_t amount) {
  const auto value = static_cast<double>(amount);
  if (amount < 10'000) return fmt::format("{}", amount);
  if (amount < 1'000'000) return fmt::format("{:.0f} k", value * 1e-3);
  return fmt::format("{:.1f} M", value * 1e-6);
}

/// "repaired_event 3, truncated 1", most frequent first.
std::string defect_list(const Defects& defects) {
  std::vector<std::pair<uint64_t, std::string_view>> found;
  for (size_t d = 0; d < kDefectCount; ++d) {
    if (defects.count[d] > 0) found.emplace_back(defects.count[d], defect_name(static_cast<Defect>(d)));
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, [](const auto& f) { return f.first; });
  std::string text;
  for (const auto& [count, name] : found) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

// All by name, or how many of each family ("gpu.sm_clock" is of gpu).
std::string signals_text(const std::vector<std::string>& metrics) {
  constexpr size_t kMostNamed = 12;
  if (metrics.size() <= kMostNamed) return fmt::to_string(fmt::join(metrics, ", "));
  std::map<std::string, size_t> families;
  for (const std::string& metric : metrics) ++families[metric.substr(0, metric.find('.'))];
  std::vector<std::string> counts;
  counts.reserve(families.size());
  for (const auto& [family, count] : families) counts.push_back(fmt::format("{} of {}", count, family));
  return fmt::format("{} signals ({}); --format json names them", metrics.size(), fmt::join(counts, ", "));
}

}  // namespace

std::string wrapped(std::string_view front, const std::string& text, size_t indent, const TextOptions& options) {
  std::string result;
  std::string line(front);
  size_t taken = display_width(front);
  bool fresh = true;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find(' ', at), text.size());
    if (text.substr(end, 2) == " %") end = std::min(text.find(' ', end + 1), text.size());  // "14 %" is one word
    const std::string word = text.substr(at, end - at);
    const size_t width = display_width(word);
    if (!fresh && taken + 1 + width > options.width) {
      result += line + "\n";
      line.assign(indent, ' ');
      taken = indent;
      fresh = true;
    }
    if (!fresh) {
      line += ' ';
      ++taken;
    }
    line += word;
    taken += width;
    fresh = false;
    at = end + 1;
  }
  return result + line + "\n";
}

int decimals_for(double typical_ms) {
  if (typical_ms >= 10000) return 0;
  if (typical_ms >= 10) return 1;
  return typical_ms >= 1 ? 2 : 3;
}

std::string fixed(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_of("123456789") == std::string::npos ? "-" : text;
}

std::string duration_text(double us) {
  if (us < 1000) return fmt::format("{:.{}f} us", us, us < 100 ? 1 : 0);
  if (us < 1e6) return fmt::format("{:.{}f} ms", us * 1e-3, us < 1e4 ? 2 : us < 1e5 ? 1 : 0);
  return fmt::format("{:.2f} s", us * 1e-6);
}

std::string bytes_text(double bytes) {
  static constexpr std::array<std::string_view, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit > 0 && bytes < 100 ? 1 : 0, kUnits[unit]);
}

std::string count_text(double count) {
  const bool whole = count >= 10 || std::abs(count - std::round(count)) < 0.05;
  return fixed(count, whole ? 0 : count >= 1 ? 1 : 2);
}

std::string place_text(const std::string& file, int32_t line) {
  if (file.empty()) return "";
  return line > 0 ? fmt::format("{}:{}", file, line) : file;
}

std::string headline(const Document& document, const TextOptions& options) {
  constexpr double kMuchOf = 0.1;
  const TextStyle& style = options.style;
  const StepsSection& steps = document.profile.steps;
  std::string text = ranks_and_hosts(document.coverage);
  if (document.profile.rank_detail) {
    std::vector<int32_t> ranks(document.profile.time.ranks.size());
    std::ranges::transform(document.profile.time.ranks, ranks.begin(), &RankTime::rank);
    text = fmt::format("{} (of {})", rank_list(ranks), text);
  }
  text += style.dot();
  if (steps.times) {
    const StepTimes& times = *steps.times;
    const int decimals = decimals_for(times.median_ms);
    text += steps.complete > 0 ? counted(steps.complete, "step", "steps")
                               : counted(steps.count, "incomplete step", "incomplete steps");
    if (times.slowest_rank < 0) {
      text += fmt::format("{}mean {:.{}f} ms (hosts run ahead of their devices)", style.dot(), times.mean_ms, decimals);
    } else {
      text += style.dot();
      if (std::abs(times.mean_ms - times.median_ms) > kMuchOf * times.median_ms) {
        text += fmt::format("mean {:.{}f} ms, ", times.mean_ms, decimals);
      }
      text +=
          fmt::format("median {:.{}f} ms (p95 {:.{}f}, slowest {:.{}f}: rank {} step {})", times.median_ms, decimals,
                      times.p95_ms, decimals, times.slowest_ms, decimals, times.slowest_rank, times.slowest_step);
    }
  } else {
    text += fmt::format("no steps found{}window {}", style.dot(), duration_text(document.window.duration_ms * 1e3));
  }
  return style.bold(text) + "\n";
}

std::string timeline_lines(const TimelineSection& timeline, const TextOptions& options) {
  std::string verdict = timeline.verdict;
  std::ranges::replace(verdict, '_', ' ');
  const std::string_view dot = options.style.dot();
  return wrapped(
      "",
      fmt::format("Operation timeline of {} data-parallel {} and {} {}{}S = {:.3f}: a step takes {} where "
                  "{} would do with all work even{}the slowest 3 % of the workers explain {:.0f} % of that, "
                  "the last stage {:.0f} %{}verdict: {}",
                  timeline.dp, timeline.dp == 1 ? "rank" : "ranks", timeline.stages,
                  timeline.stages == 1 ? "stage" : "stages", dot, timeline.slowdown_even,
                  duration_text(timeline.simulated_step_ms * 1e3), duration_text(timeline.ideal_step_ms * 1e3), dot,
                  timeline.explained_by_slowest_workers * 100, timeline.explained_by_last_stage * 100, dot, verdict),
      0, options);
}

/// PyTorch describes groups that nobody described as "undefined": their name tells them apart.
std::string group_text(const CollectiveRow& row, const TextStyle& style) {
  const bool described = !row.group_desc.empty() && row.group_desc != "undefined";
  if (described) return style.clean(row.group_desc);
  if (row.group.empty()) return "group not recorded";
  const bool number = row.group.find_first_not_of("0123456789") == std::string::npos;
  return (number ? "group " : "") + style.clean(row.group);
}

/// The member that came latest to what was joined, where that is more than its error.
std::string waited_for(const CollectiveRow& row) {
  if (row.joined.by == AlignedBy::kNothing || !row.joined.whole) return "?";
  const auto late_of = [](const CollectiveOnRank& rank) { return rank.late_ms_per_step.value_or(0); };
  const auto latest = std::ranges::max_element(row.ranks, {}, late_of);
  const double error_ms = 1e-3 * row.joined.error_us * row.count_per_step;
  if (latest == row.ranks.end() || late_of(*latest) <= error_ms) return "nobody";
  return fmt::format("rank {}, {} ms", latest->rank, fixed(late_of(*latest), decimals_for(late_of(*latest))));
}

std::string collective_table(const std::vector<CollectiveRow>& rows, const TextOptions& options) {
  if (rows.empty()) return "";
  using Column = TextTable::Column;
  const TextStyle& style = options.style;
  TextTable table(style, {{"count"},
                          {"bytes"},
                          {"exposed ms"},
                          {"p50"},
                          {"p99"},
                          {"GB/s"},
                          {"waited for", TextTable::Align::kLeft},
                          {"collective", TextTable::Align::kLeft, Column::Cut::kEnd},
                          {"group", TextTable::Align::kLeft, Column::Cut::kEnd}});
  constexpr size_t kMostRows = 6;
  const size_t shown = std::min(rows.size(), kMostRows);
  for (size_t i = 0; i < shown; ++i) {
    const CollectiveRow& row = rows[i];
    std::string group = group_text(row, style);
    if (row.group_size > 0) group += fmt::format(" of {}", row.group_size);
    table.add({count_text(row.count_per_step), row.bytes_per_step > 0 ? bytes_text(row.bytes_per_step) : "?",
               fixed(row.exposed_ms_per_step, decimals_for(row.exposed_ms_per_step)),
               duration_text(row.duration.p50_us), duration_text(row.duration.p99_us),
               row.gigabytes_per_s ? fixed(*row.gigabytes_per_s, *row.gigabytes_per_s < 10 ? 3 : 1) : "?",
               waited_for(row), style.clean(row.dtype.empty() ? row.kind : row.kind + " " + row.dtype), group});
  }
  std::string text = style.bold("Collectives") + style.dim(", a rank and step") + "\n";
  text += table.lines(options.width);
  if (rows.size() > shown) text += style.dim(fmt::format("  and {} more", rows.size() - shown)) + "\n";
  return text;
}

std::string remarks(const Document& document, const TextOptions& options) {
  const TextStyle& style = options.style;
  std::vector<std::string> points = document.profile.notes;
  if (document.import.defects.any()) {
    points.push_back("damaged input, used as far as it goes: " + defect_list(document.import.defects));
  }
  const std::string read = fmt::format("{} events in {} of trace", events_text(document.import.events),
                                       bytes_text(static_cast<double>(document.import.bytes)));
  std::string unsampled;
  if (!document.coverage.signals_missing.empty()) {
    unsampled = style.dim(wrapped(
        "", fmt::format("No samples, on some ranks or all, of {}.", signals_text(document.coverage.signals_missing)), 2,
        options));
  }
  if (points.empty()) return style.dim("Nothing missing or damaged; " + read + ".") + "\n" + unsampled;
  constexpr size_t kMostPoints = 12;
  std::string text = style.bold("Missing or damaged") + style.dim("; read: " + read) + "\n";
  for (size_t i = 0; i < std::min(points.size(), kMostPoints); ++i) {
    text += style.warning(wrapped("  - ", style.clean(points[i]), 4, options));
  }
  if (points.size() > kMostPoints) {
    text += style.dim(fmt::format("  and {} more (--format json has all)", points.size() - kMostPoints)) + "\n";
  }
  text += unsampled;
  return text;
}

std::string write_text(const Document& document, const TextOptions& options) {
  const Profile& profile = document.profile;
  std::vector<std::string> sections{answer(document, profile.function_detail || profile.rank_detail, options),
                                    headline(document, options)};
  if (document.timeline) sections.back() += timeline_lines(*document.timeline, options);
  if (profile.function_detail) {
    sections.push_back(function_details(profile, options));
  } else {
    sections.push_back(time_table(profile.time, options));
    if (profile.rank_detail) {
      for (const RankSteps& rank : profile.steps.ranks) sections.push_back(step_table(rank, options));
    }
    sections.push_back(function_table(profile, options));
    sections.push_back(collective_table(profile.collectives, options));
  }
  sections.push_back(remarks(document, options));
  std::string text;
  for (const std::string& section : sections) {
    if (!section.empty()) text += (text.empty() ? "" : "\n") + section;
  }
  return text;
}

}  // namespace eroica
