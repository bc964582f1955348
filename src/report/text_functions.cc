#include <algorithm>

#include <fmt/format.h>

#include "report/text_sections.h"
#include "report/text_table.h"

namespace eroica {
namespace {

std::string percent(double share) { return fmt::format("{:.{}f} %", share * 100, share < 0.0995 ? 1 : 0); }

/// Where the user should look: the function's own line, else the line that issued it and its function, else the caller.
std::string where(const FunctionRow& row) {
  if (std::string own = place_text(row.file, row.line); !own.empty()) return own;
  if (row.issuers.empty()) return row.path.empty() ? "" : row.path.back();
  const IssuerRow& issuer = row.issuers.front();
  const std::string place = place_text(issuer.file, issuer.line);
  return place.empty() ? issuer.name : fmt::format("{} {}", place, issuer.name);
}

/// Is the largest worth a look, or about the same as the others?
bool stands_out(const Spread& spread) { return spread.max - spread.median > 0.02 * spread.max; }

std::string joined_path(const FunctionRow& row, const TextStyle& style) {
  std::string text;
  for (const std::string& frame : row.path) {
    text += (text.empty() ? "" : std::string(style.arrow())) + style.clean(frame);
  }
  return text;
}

std::string labelled(std::string_view label, const std::string& text) {
  return text.empty() ? "" : fmt::format("  {:<10}{}\n", label, text);
}

std::string issuer_lines(const FunctionRow& row, const TextStyle& style) {
  std::string text;
  for (const IssuerRow& issuer : row.issuers) {
    text += labelled(text.empty() ? "issued by" : "",
                     fmt::format("{} {} ({:.3f} ms a step)", style.clean(place_text(issuer.file, issuer.line)),
                                 style.clean(issuer.name), issuer.total_ms_per_step));
  }
  return text;
}

std::string rank_lines(const FunctionRow& row, const TextOptions& options) {
  const bool series =
      std::ranges::any_of(row.ranks, [](const FunctionOnRank& rank) { return !rank.step_exposed_ms.empty(); });
  std::vector<TextTable::Column> columns{{"rank"}, {"exposed"}, {"total"}, {"self"}, {"calls"}, {"p50"}, {"p99"}};
  if (series) columns.push_back({"exposed by step", TextTable::Align::kLeft, TextTable::Column::Cut::kEnd});
  TextTable table(options.style, columns);
  const int decimals = decimals_for(row.total_ms.max);
  for (const FunctionOnRank& rank : row.ranks) {
    std::vector<std::string> cells{fmt::format("{}", rank.rank),       fixed(rank.exposed_ms, decimals),
                                   fixed(rank.total_ms, decimals),     fixed(rank.self_ms, decimals),
                                   fmt::format("{}", rank.executions), duration_text(rank.p50_us),
                                   duration_text(rank.p99_us)};
    if (series) {
      std::string steps = options.style.sparkline(rank.step_exposed_ms);
      if (!rank.step_exposed_ms.empty()) {
        steps += fmt::format(" up to {}", fixed(std::ranges::max(rank.step_exposed_ms), decimals));
      }
      cells.push_back(std::move(steps));
    }
    table.add(std::move(cells));
  }
  return table.lines(options.width);
}

std::string hardware_lines(const FunctionRow& row, const TextOptions& options) {
  if (row.hardware.empty()) return "";
  const TextStyle& style = options.style;
  constexpr size_t kMostRows = 40;
  TextTable table(style, {{"rank"},
                          {"signal", TextTable::Align::kLeft},
                          {"mean"},
                          {"deviation"},
                          {"unit", TextTable::Align::kLeft},
                          {"entity", TextTable::Align::kLeft, TextTable::Column::Cut::kEnd}});
  for (size_t i = 0; i < std::min(row.hardware.size(), kMostRows); ++i) {
    const HardwareRow& use = row.hardware[i];
    table.add({fmt::format("{}", use.rank), style.clean(use.metric), fmt::format("{:.4g}", use.mean),
               fmt::format("{:.4g}", use.deviation), style.clean(use.unit), style.clean(use.entity)});
  }
  std::string text = table.lines(options.width);
  if (row.hardware.size() > kMostRows) {
    text += style.dim(fmt::format("  and {} more", row.hardware.size() - kMostRows)) + "\n";
  }
  return text;
}

std::string function_detail(const FunctionRow& row, const TextOptions& options) {
  const TextStyle& style = options.style;
  std::string text = style.bold(style.clean(row.name)) +
                     style.dim(fmt::format("  {}  {:016x}", function_kind_name(row.kind), row.id)) + "\n";
  if (!row.full.empty() && row.full != row.name) text += labelled("in full", style.clean(row.full));
  text += labelled("at", style.clean(place_text(row.file, row.line)));
  text += labelled("called by", joined_path(row, style));
  text += issuer_lines(row, style);
  const std::string dot(style.dot());
  text += labelled(
      "explains", fmt::format("{} of a step{}{} calls a step{}a call takes {} (p99 {}, longest {})", percent(row.share),
                              dot, count_text(row.executions_per_step), dot, duration_text(row.duration.p50_us),
                              duration_text(row.duration.p99_us), duration_text(row.duration.max_us)));
  return text + rank_lines(row, options) + hardware_lines(row, options);
}

}  // namespace

std::string function_table(const Profile& profile, const TextOptions& options) {
  const TextStyle& style = options.style;
  const bool several = profile.time.ranks.size() > 1;
  std::vector<TextTable::Column> columns{{"share"}, {several ? "median" : "ms"}};
  if (several) columns.insert(columns.end(), {{"max"}, {"rank"}});
  columns.push_back({"calls"});
  columns.push_back({"kind", TextTable::Align::kLeft});
  columns.push_back({"function", TextTable::Align::kLeft, TextTable::Column::Cut::kEnd});
  columns.push_back({"where", TextTable::Align::kLeft, TextTable::Column::Cut::kFront});

  double largest = 0;
  for (const FunctionRow& row : profile.functions) largest = std::max(largest, row.exposed_ms.max);
  const int decimals = decimals_for(largest);
  TextTable table(style, columns);
  uint64_t left_out = profile.functions_left_out;
  size_t shown = 0;
  for (const FunctionRow& row : profile.functions) {
    if (row.share < options.least_share) {
      ++left_out;
      continue;
    }
    std::vector<std::string> cells{percent(row.share), fixed(row.exposed_ms.median, decimals)};
    if (several) {
      cells.push_back(fixed(row.exposed_ms.max, decimals));
      cells.push_back(stands_out(row.exposed_ms) ? fmt::format("{}", row.exposed_ms.max_rank) : "-");
    }
    cells.push_back(count_text(row.executions_per_step));
    cells.emplace_back(function_kind_name(row.kind));
    cells.push_back(style.clean(row.name));
    cells.push_back(style.clean(where(row)));
    table.add(std::move(cells));
    ++shown;
  }
  if (shown == 0) return "";
  const bool all_windows =
      std::ranges::all_of(profile.time.ranks, [](const RankTime& rank) { return rank.per_window; });
  std::string about = all_windows ? ", exposed ms in the window" : ", exposed ms a step";
  if (several) about += ": median over ranks, and the largest with its rank";
  std::string text = style.bold("Functions that explain it") + style.dim(about) + "\n" + table.lines(options.width);
  if (left_out > 0) {
    text += style.dim(fmt::format("  and {} more (--top K shows more, --function NAME all of one)", left_out)) + "\n";
  }
  return text;
}

std::string function_details(const Profile& profile, const TextOptions& options) {
  std::string text;
  for (const FunctionRow& row : profile.functions) {
    text += (text.empty() ? "" : "\n") + function_detail(row, options);
  }
  if (profile.functions_left_out > 0) {
    text += "\n" +
            options.style.dim(fmt::format("and {} more that match (--top K shows more)", profile.functions_left_out)) +
            "\n";
  }
  return text;
}

}  // namespace eroica
