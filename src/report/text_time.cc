#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/robust.h"
#include "report/text_sections.h"
#include "report/text_table.h"

namespace eroica {
namespace {

constexpr size_t kMostRanksInFull = 8;
constexpr size_t kUnusualRanks = 4;
constexpr double kUnusual = 3;  // robust deviations from the median
constexpr size_t kWidestBar = 32;
constexpr size_t kLeastBar = 8;
constexpr size_t kLongestHost = 14;

double sum_of(const PerClass& ms) {
  double sum = 0;
  for (const double value : ms) sum += value;
  return sum;
}

template <typename Of>
std::vector<double> over_ranks(const TimeSection& time, Of of) {
  std::vector<double> values(time.ranks.size());
  std::ranges::transform(time.ranks, values.begin(), of);
  return values;
}

std::vector<double> step_sums(const TimeSection& time) {
  return over_ranks(time, [](const RankTime& rank) { return sum_of(rank.ms); });
}

/// How far a rank is from the others in its most unusual class, in robust deviations.
std::vector<double> unusualness(const TimeSection& time) {
  std::vector<double> scores(time.ranks.size(), 0.0);
  // Deviations within a hundredth of a step are nobody's concern.
  const double least = std::max(median(step_sums(time)) * 0.01, 1e-9);
  for (size_t c = 0; c < kTimeClassCount; ++c) {
    const std::vector<double> values = over_ranks(time, [c](const RankTime& rank) { return rank.ms[c]; });
    const double middle = median(values);
    const double deviation = std::max(median_absolute_deviation(values), least);
    for (size_t i = 0; i < values.size(); ++i) {
      scores[i] = std::max(scores[i], std::abs(values[i] - middle) / deviation);
    }
  }
  return scores;
}

/// The ranks to show one by one: all, or of many those that differ most, if any do.
std::vector<const RankTime*> shown_ranks(const TimeSection& time) {
  std::vector<const RankTime*> shown;
  if (time.ranks.size() <= kMostRanksInFull) {
    for (const RankTime& rank : time.ranks) shown.push_back(&rank);
    return shown;
  }
  const std::vector<double> scores = unusualness(time);
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > kUnusual) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](size_t i) { return scores[i]; });
  for (size_t i = 0; i < std::min(order.size(), kUnusualRanks); ++i) shown.push_back(&time.ranks[order[i]]);
  return shown;
}

/// One row of a table of classes: words in front, figures, and the bar that fills the line.
struct Row {
  std::vector<std::string> front;
  double step_ms;
  PerClass ms;
  bool with_bar;
};

std::string class_rows(std::vector<TextTable::Column> front, const std::vector<Row>& rows, std::string_view step_title,
                       const TextOptions& options) {
  std::vector<PerClass> figures;
  double full = 0;
  double typical = 0;
  for (const Row& row : rows) {
    figures.push_back(row.ms);
    full = std::max(full, sum_of(row.ms));
    typical = std::max(typical, row.step_ms);
  }
  const int decimals = decimals_for(typical);
  const std::vector<size_t> classes = used_classes(figures);

  const auto table = [&](size_t bar_width) {
    std::vector<TextTable::Column> columns = front;
    columns.push_back({std::string(step_title)});
    for (const size_t c : classes) columns.push_back({class_title(c, options)});
    if (bar_width > 0) columns.push_back({"", TextTable::Align::kLeft});
    TextTable result(options.style, columns);
    for (const Row& row : rows) {
      std::vector<std::string> cells = row.front;
      cells.push_back(fixed(row.step_ms, decimals));
      for (const size_t c : classes) cells.push_back(fixed(row.ms[c], decimals));
      if (bar_width > 0) {
        cells.push_back(row.with_bar ? options.style.bar(row.ms, full, bar_width) : "");
      }
      result.add(std::move(cells));
    }
    return result.lines(options.width);
  };
  // The bar takes what the figures leave.
  const std::string plain = table(0);
  size_t widest = 0;
  size_t start = 0;
  while (start < plain.size()) {
    const size_t end = std::min(plain.find('\n', start), plain.size());
    widest = std::max(widest, display_width(std::string_view(plain).substr(start, end - start)));
    start = end + 1;
  }
  const size_t left = options.width > widest + 2 ? options.width - widest - 2 : 0;
  return left < kLeastBar ? plain : table(std::min(left, kWidestBar));
}

Row spread_row(std::string_view word, bool with_host, const TimeSection& time, double ClassSpread::*value,
               double step_ms, bool with_bar) {
  Row row{{std::string(word)}, step_ms, {}, with_bar};
  if (with_host) row.front.emplace_back();
  for (size_t c = 0; c < kTimeClassCount; ++c) row.ms[c] = time.over_ranks[c].*value;
  return row;
}

}  // namespace

std::vector<size_t> used_classes(std::span<const PerClass> rows) {
  std::vector<size_t> used;
  for (size_t c = 0; c < kTimeClassCount; ++c) {
    if (std::ranges::any_of(rows, [&](const PerClass& ms) { return ms[c] > 0; })) used.push_back(c);
  }
  return used;
}

std::string class_title(size_t c, const TextOptions& options) {
  const auto time_class = static_cast<TimeClass>(c);
  // With colours the word's colour is the bar's; without, the bar is made of these letters.
  if (options.style.color && options.style.utf8) {
    return options.style.of_class(time_class, class_word(time_class));
  }
  const std::string_view word = class_word(time_class);
  return word[0] == class_letter(time_class) ? std::string(word) : fmt::format("{} {}", word, class_letter(time_class));
}

std::string time_table(const TimeSection& time, const TextOptions& options) {
  if (time.ranks.empty()) return "";
  const bool with_host = std::ranges::any_of(time.ranks, [](const RankTime& rank) { return !rank.host.empty(); });
  const bool all_windows = std::ranges::all_of(time.ranks, [](const RankTime& rank) { return rank.per_window; });

  std::vector<TextTable::Column> front{{"rank"}};
  if (with_host) front.push_back({"host", TextTable::Align::kLeft});
  std::vector<Row> rows;
  if (time.ranks.size() > kMostRanksInFull) {
    const std::vector<double> steps = step_sums(time);
    rows.push_back(spread_row("min", with_host, time, &ClassSpread::min_ms, std::ranges::min(steps), false));
    rows.push_back(spread_row("median", with_host, time, &ClassSpread::median_ms, median(steps), true));
    rows.push_back(spread_row("max", with_host, time, &ClassSpread::max_ms, std::ranges::max(steps), false));
  }
  const std::vector<const RankTime*> shown = shown_ranks(time);
  for (const RankTime* rank : shown) {
    Row row{{fmt::format("{}", rank->rank)}, sum_of(rank->ms), rank->ms, true};
    if (with_host) row.front.push_back(options.style.cut_end(options.style.clean(rank->host), kLongestHost));
    rows.push_back(std::move(row));
  }
  std::string about = all_windows ? ", ms in the window" : ", mean ms a step";
  if (time.ranks.size() > kMostRanksInFull) {
    about += fmt::format(": over {} ranks{}", time.ranks.size(),
                         shown.empty() ? ", none of which stands out" : ", and those that differ most");
  }
  return options.style.bold(all_windows ? "Where the time goes" : "Where a step's time goes") +
         options.style.dim(about) + "\n" + class_rows(front, rows, all_windows ? "window" : "step", options);
}

std::string step_table(const RankSteps& rank, const TextOptions& options) {
  if (rank.steps.empty()) return "";
  std::vector<Row> rows;
  double longest = 0;
  for (const StepRow& step : rank.steps) longest = std::max(longest, step.duration_ms);
  for (const StepRow& step : rank.steps) {
    const std::string_view remark = !step.complete ? "cut by the window" : step.irregular ? "irregular" : "";
    rows.push_back({{fmt::format("{}", step.number), fmt::format("{:.1f}", step.start_ms),
                     fixed(step.fetch_ms, decimals_for(longest)), std::string(remark)},
                    step.duration_ms,
                    step.ms,
                    true});
  }
  std::vector<TextTable::Column> front{{"step"}, {"start"}, {"fetch"}, {"", TextTable::Align::kLeft}};
  return options.style.bold(fmt::format("Steps of rank {}", rank.rank)) +
         options.style.dim(", ms; fetch: in the dataloader, hidden by the device or not") + "\n" +
         class_rows(front, rows, "took", options);
}

}  // namespace eroica
