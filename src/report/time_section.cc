#include <algorithm>
#include <limits>
#include <set>

#include "base/robust.h"
#include "report/sections.h"

namespace eroica {
namespace {

double to_ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

PerClass to_ms(const Budget& budget) {
  PerClass ms{};
  for (size_t c = 0; c < kTimeClassCount; ++c) ms[c] = to_ms(budget[c]);
  return ms;
}

RankSteps rank_steps(const RankPattern& pattern) {
  RankSteps result{pattern.rank, {}};
  if (pattern.step_source == StepSource::kWindow) return result;
  for (const StepPattern& step : pattern.steps) {
    result.steps.push_back({step.number, to_ms(step.start_ns), to_ms(step.duration_ns), step.complete, step.irregular,
                            to_ms(step.fetch_ns), to_ms(step.budget)});
  }
  return result;
}

std::string joined_notes(std::span<const RankView> ranks) {
  std::vector<std::string> texts;  // by first rank
  std::set<std::string> seen;
  for (const RankView& view : ranks) {
    const std::string& note = view.pattern->step_note;
    if (!note.empty() && seen.insert(note).second) texts.push_back(note);
  }
  constexpr size_t kMostNotes = 3;
  std::string joined;
  for (size_t i = 0; i < std::min(texts.size(), kMostNotes); ++i) {
    joined += (i == 0 ? "" : "; ") + texts[i];
  }
  return joined;
}

std::string joined_source(std::span<const RankView> ranks) {
  const StepSource first = ranks.front().pattern->step_source;
  const bool same =
      std::ranges::all_of(ranks, [&](const RankView& view) { return view.pattern->step_source == first; });
  return same ? std::string(step_source_name(first)) : "mixed";
}

// Median over the ranks of their mean step.
double mean_over(std::span<const RankView> ranks) {
  std::vector<double> means;
  for (const RankView& view : ranks) {
    if (!view.basis.per_window) means.push_back(view.basis.step_ns * 1e-6);
  }
  return means.empty() ? 0 : median(means);
}

RankTime rank_time(const RankView& view) {
  const RankPattern& pattern = *view.pattern;
  RankTime time;
  time.rank = pattern.rank;
  time.host = pattern.host;
  time.device = pattern.device;
  time.per_window = view.basis.per_window && !view.basis.scaled_window;
  time.steps = view.basis.counted.size();
  time.window_ms = to_ms(pattern.window_ns);
  if (view.basis.per_window) {
    time.ms = to_ms(pattern.budget);
    int64_t fetch_ns = 0;
    for (const StepPattern& step : pattern.steps) fetch_ns += step.fetch_ns;
    time.fetch_median_ms = time.fetch_max_ms = to_ms(fetch_ns);
    if (view.basis.scaled_window) {
      for (double& ms : time.ms) ms *= view.basis.scale;
      time.fetch_median_ms = time.fetch_max_ms = to_ms(fetch_ns) * view.basis.scale;
      const double step_ms = view.basis.step_ns * 1e-6;
      time.step_ms = {step_ms, step_ms, step_ms};
    }
  } else {
    std::vector<double> durations;
    std::vector<double> fetches;
    for (const uint32_t i : view.basis.counted) {
      const StepPattern& step = pattern.steps[i];
      durations.push_back(to_ms(step.duration_ns));
      fetches.push_back(to_ms(step.fetch_ns));
      const PerClass ms = to_ms(step.budget);
      for (size_t c = 0; c < kTimeClassCount; ++c) time.ms[c] += ms[c];
    }
    for (double& ms : time.ms) ms /= static_cast<double>(durations.size());
    time.step_ms = {median(durations), quantile(durations, 0.95), std::ranges::max(durations)};
    if (view.basis.ahead) {
      const double mean_ms = view.basis.step_ns * 1e-6;
      time.step_ms = {mean_ms, mean_ms, mean_ms};
    }
    time.fetch_median_ms = median(fetches);
    time.fetch_max_ms = std::ranges::max(fetches);
  }
  double sum = 0;
  for (const double ms : time.ms) sum += ms;
  for (size_t c = 0; c < kTimeClassCount; ++c) time.share[c] = sum > 0 ? time.ms[c] / sum : 0;
  return time;
}

ClassSpread class_spread(std::span<const RankTime> ranks, size_t c) {
  ClassSpread spread;
  spread.min_ms = std::numeric_limits<double>::infinity();
  spread.max_ms = -1;
  std::vector<double> values;
  for (const RankTime& rank : ranks) {
    values.push_back(rank.ms[c]);
    spread.min_ms = std::min(spread.min_ms, rank.ms[c]);
    if (rank.ms[c] > spread.max_ms) {
      spread.max_ms = rank.ms[c];
      spread.max_rank = rank.rank;
    }
    spread.share += rank.share[c] / static_cast<double>(ranks.size());
  }
  spread.median_ms = median(values);
  return spread;
}

}  // namespace

std::string_view step_source_name(StepSource source) {
  switch (source) {
    case StepSource::kMarker:
      return "marker";
    case StepSource::kProfilerStep:
      return "profiler_step";
    case StepSource::kSequence:
      return "sequence";
    case StepSource::kWindow:
      break;
  }
  return "window";
}

StepsSection steps_section(std::span<const RankView> ranks, double mean_ms) {
  StepsSection section;
  section.source = joined_source(ranks);
  section.note = joined_notes(ranks);
  std::vector<double> durations;
  StepTimes times;
  for (const RankView& view : ranks) {
    section.ranks.push_back(rank_steps(*view.pattern));
    const std::vector<StepRow>& rows = section.ranks.back().steps;
    section.count = std::max<uint64_t>(section.count, rows.size());
    const auto complete =
        std::ranges::count_if(rows, [](const StepRow& row) { return row.complete && !row.irregular; });
    section.complete = std::max(section.complete, static_cast<uint64_t>(complete));
    for (const uint32_t i : view.basis.counted) {
      durations.push_back(rows[i].duration_ms);
      if (times.slowest_rank < 0 || rows[i].duration_ms > times.slowest_ms) {
        times.slowest_ms = rows[i].duration_ms;
        times.slowest_step = rows[i].number;
        times.slowest_rank = view.pattern->rank;
      }
    }
  }
  if (durations.empty()) return section;
  times.median_ms = median(durations);
  times.p95_ms = quantile(durations, 0.95);
  times.mean_ms = mean_ms > 0 ? mean_ms : mean_over(ranks);
  if (2 * std::ranges::count_if(ranks, [](const RankView& view) { return view.basis.ahead; }) >
      std::ranges::count_if(ranks, [](const RankView& view) { return !view.basis.per_window; })) {
    times = {
        .mean_ms = times.mean_ms, .median_ms = times.mean_ms, .p95_ms = times.mean_ms, .slowest_ms = times.mean_ms};
  }
  section.times = times;
  return section;
}

TimeSection time_section(std::span<const RankView> ranks) {
  TimeSection section;
  for (const RankView& view : ranks) section.ranks.push_back(rank_time(view));
  for (size_t c = 0; c < kTimeClassCount; ++c) section.over_ranks[c] = class_spread(section.ranks, c);
  return section;
}

}  // namespace eroica
