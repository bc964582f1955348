#include "compare/step_variation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr int kMostShift = 3;
constexpr size_t kLeastSteps = 5;
constexpr size_t kMostRanks = 256;
constexpr double kMargin = 1.5;

std::vector<StepFacts> regular_steps(const Job& job, const RankFacts& rank) {
  std::vector<StepFacts> steps;
  for (const StepFacts& step : job.steps_of(rank)) {
    if (step.regular) steps.push_back(step);
  }
  return steps;
}

double difference_at(const std::vector<StepFacts>& a, const std::vector<StepFacts>& b, int shift) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto j = static_cast<ptrdiff_t>(i) + shift;
    if (j < 0 || j >= static_cast<ptrdiff_t>(b.size())) continue;
    sum += std::abs(a[i].duration_ms - b[static_cast<size_t>(j)].duration_ms);
    ++count;
  }
  if (count < kLeastSteps || 2 * count < a.size()) return std::numeric_limits<double>::infinity();
  return sum / static_cast<double>(count);
}

// The shift of b against a; kMostShift + 1: not aligned.
int shift_of(const std::vector<StepFacts>& a, const std::vector<StepFacts>& b) {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int shift = -kMostShift; shift <= kMostShift; ++shift) {
    const double difference = difference_at(a, b, shift);
    if (difference < least || (difference == least && std::abs(shift) < std::abs(best))) {
      least = difference;
      best = shift;
    }
  }
  if (std::isinf(least)) return kMostShift + 1;
  for (int shift = -kMostShift; shift <= kMostShift; ++shift) {
    if (shift != best && difference_at(a, b, shift) < kMargin * least) return a.size() == b.size() ? 0 : kMostShift + 1;
  }
  return best;
}

// The steps of one rank by the reference's step.
using Row = std::map<int64_t, StepFacts>;

struct AlignedRank {
  std::vector<StepFacts> steps;
  bool numbered = false;
};

std::vector<AlignedRank> ranks_with_steps(const Job& job, const PeerSet& set) {
  std::vector<AlignedRank> found;
  const size_t stride = std::max<size_t>(1, set.ranks.size() / kMostRanks);
  for (size_t i = 0; i < set.ranks.size(); i += stride) {
    const RankFacts& rank = job.ranks[set.ranks[i]];
    std::vector<StepFacts> steps = regular_steps(job, rank);
    if (rank.step_source == StepSource::kWindow || steps.size() < kLeastSteps) continue;
    found.push_back({std::move(steps), rank.steps_numbered});
  }
  return found;
}

std::vector<Row> rows_by_number(const std::vector<AlignedRank>& ranks) {
  std::vector<Row> rows;
  for (const AlignedRank& rank : ranks) {
    if (!rank.numbered) continue;
    Row& row = rows.emplace_back();
    for (const StepFacts& step : rank.steps) row[step.number] = step;
  }
  return rows;
}

std::vector<Row> rows_by_duration(const std::vector<AlignedRank>& ranks) {
  std::vector<Row> rows;
  if (ranks.empty()) return rows;
  const AlignedRank& reference =
      *std::max_element(ranks.begin(), ranks.end(),
                        [](const AlignedRank& a, const AlignedRank& b) { return a.steps.size() < b.steps.size(); });
  for (const AlignedRank& rank : ranks) {
    const int shift = shift_of(reference.steps, rank.steps);
    if (shift > kMostShift) continue;
    Row& row = rows.emplace_back();
    for (size_t at = 0; at < rank.steps.size(); ++at) row[static_cast<int64_t>(at) - shift] = rank.steps[at];
  }
  return rows;
}

// Steps that all rows have. Rows that have less than half of those that most have are left out, and, while too few are
// left, those that have the least: of ranks that began late or ended early nothing is known that would be worth the
// others' steps.
std::vector<int64_t> common_steps(std::vector<Row>& rows) {
  std::map<int64_t, size_t> had;
  for (const Row& row : rows) {
    for (const auto& [number, step] : row) ++had[number];
  }
  std::vector<int64_t> usual;
  for (const auto& [number, by] : had) {
    if (2 * by > rows.size()) usual.push_back(number);
  }
  const auto has = [&](const Row& row) {
    return static_cast<size_t>(
        std::count_if(usual.begin(), usual.end(), [&](int64_t number) { return row.contains(number); }));
  };
  std::erase_if(rows, [&](const Row& row) { return 2 * has(row) < usual.size(); });
  const size_t least_rows = std::max<size_t>(2, rows.size() / 2);
  while (true) {
    std::vector<int64_t> common;
    for (const int64_t number : usual) {
      if (std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return row.contains(number); })) {
        common.push_back(number);
      }
    }
    if (common.size() >= kLeastSteps || rows.size() <= least_rows) return common;
    rows.erase(std::min_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return has(a) < has(b); }));
  }
}

// What is left of each value once its row's and its column's mean are taken out.
std::vector<double> residuals(const std::vector<std::vector<double>>& table) {
  const size_t rows = table.size();
  const size_t columns = table.front().size();
  std::vector<double> column_mean(columns);
  double mean = 0;
  for (const auto& row : table) {
    for (size_t c = 0; c < columns; ++c) column_mean[c] += row[c] / static_cast<double>(rows);
  }
  for (const double value : column_mean) mean += value / static_cast<double>(columns);
  std::vector<double> result;
  result.reserve(rows * columns);
  for (const auto& row : table) {
    const double row_mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) result.push_back(row[c] - row_mean - column_mean[c] + mean);
  }
  return result;
}

}  // namespace

StepVariation step_variation(const Job& job, const PeerSet& set) {
  StepVariation result;
  const std::vector<AlignedRank> asked = ranks_with_steps(job, set);
  const auto with_numbers = static_cast<size_t>(
      std::count_if(asked.begin(), asked.end(), [](const AlignedRank& rank) { return rank.numbered; }));
  const bool numbered = 2 * with_numbers > asked.size();
  std::vector<Row> rows = numbered ? rows_by_number(asked) : rows_by_duration(asked);
  if (rows.size() < 2) {
    result.why = "the ranks' steps could not be aligned";
    return result;
  }
  std::vector<int64_t> common = common_steps(rows);
  // What a step launched runs later where the host is ahead of its device.
  std::vector<int64_t> launched;
  for (const int64_t number : common) {
    if (std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return row.at(number).launched_ms > 0; })) {
      launched.push_back(number);
    }
  }
  const bool by_launch = launched.size() >= kLeastSteps;
  if (by_launch) common = launched;
  if (common.size() < kLeastSteps) {
    result.why = "the ranks have too few steps in common";
    return result;
  }
  result.why = numbered ? "aligned by step number" : "aligned by the steps' durations";
  result.steps = common.size();
  std::vector<std::vector<double>> own(rows.size());
  std::vector<std::vector<double>> work(rows.size());
  double total_ms = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (const int64_t number : common) {
      const StepFacts& step = rows[r].at(number);
      own[r].push_back(by_launch ? step.launched_ms : step.own_ms);
      work[r].push_back(step.work);
      if (r == 0) total_ms += by_launch ? job.step_ms : step.duration_ms;
    }
  }
  std::vector<bool> was_slowest(rows.size());
  double slowest_each = 0;
  for (size_t c = 0; c < common.size(); ++c) {
    size_t slowest = 0;
    for (size_t r = 1; r < rows.size(); ++r) {
      if (own[r][c] > own[slowest][c]) slowest = r;
    }
    slowest_each += own[slowest][c];
    was_slowest[slowest] = true;
  }
  double slowest_of_all = 0;
  for (const auto& row : own) slowest_of_all = std::max(slowest_of_all, std::accumulate(row.begin(), row.end(), 0.0));
  result.slowest_ranks = static_cast<size_t>(std::count(was_slowest.begin(), was_slowest.end(), true));
  if (total_ms > 0) result.moving_share = (slowest_each - slowest_of_all) / total_ms;
  result.work_correlation = correlation(residuals(own), residuals(work));
  return result;
}

Bursts bursts(const Job& job, const Subject& subject) {
  Bursts result;
  double excess_sum = 0;
  double burst_sum = 0;
  double ratio_sum = 0;
  size_t members = 0;
  for (const uint32_t rank : subject.sample(64)) {
    std::vector<double> own;
    for (const StepFacts& step : job.steps_of(job.ranks[rank])) {
      if (step.regular) own.push_back(step.own_ms);
    }
    if (own.size() < kLeastSteps) continue;
    const double usual = median(own);
    std::vector<double> sorted = own;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const size_t worst = std::max<size_t>(1, own.size() / 10);
    double excess = 0;
    for (const double value : own) excess += std::max(0.0, value - usual);
    double burst = 0;
    double mean = 0;
    for (size_t i = 0; i < worst; ++i) {
      burst += std::max(0.0, sorted[i] - usual);
      mean += sorted[i] / static_cast<double>(worst);
    }
    excess_sum += excess;
    burst_sum += burst;
    ratio_sum += usual > 0 ? mean / usual : 1;
    ++members;
    result.steps = std::max(result.steps, own.size());
    // Spikes: steps beyond the middle between the median and the largest.
    const double bound = usual + (sorted.front() - usual) / 2;
    if (sorted.front() < 1.5 * usual) continue;
    std::vector<size_t> at;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] > bound) at.push_back(i);
    }
    if (at.size() < 2 || at.size() * 2 > own.size()) continue;
    size_t least = own.size();
    size_t most = 0;
    for (size_t i = 1; i < at.size(); ++i) {
      least = std::min(least, at[i] - at[i - 1]);
      most = std::max(most, at[i] - at[i - 1]);
    }
    if (most <= least + 1 && least >= 2) {
      result.period_steps = static_cast<double>(at.back() - at.front()) / static_cast<double>(at.size() - 1);
    }
  }
  if (members > 0) {
    result.burst_share = excess_sum > 0 ? burst_sum / excess_sum : 0;
    result.spike_ratio = ratio_sum / static_cast<double>(members);
  }
  return result;
}

double repeated_share(const Job& job, const RankFacts& rank) {
  constexpr double kExact = 0.07;
  constexpr double kMostOdd = 0.1;
  constexpr double kUsual = 0.25;  // quantile: many steps may be repeated
  std::vector<double> work;
  std::vector<double> times_ms;
  for (const StepFacts& step : job.steps_of(rank)) {
    // A host that runs ahead of its device ends a step long before the work of it.
    const float taken_ms = job.gpu_job ? step.launched_ms : step.duration_ms;
    if (!step.regular || step.work <= 0 || taken_ms <= 0) continue;
    work.push_back(step.work);
    times_ms.push_back(taken_ms);
  }
  if (work.size() < kLeastSteps) return std::numeric_limits<double>::quiet_NaN();
  const double usual = quantile(work, kUsual);
  const double usual_ms = quantile(times_ms, kUsual);
  const auto is_near = [](double value, double whole) { return std::abs(value / whole - 1) < kExact; };
  size_t repeated = 0;
  size_t odd = 0;
  for (size_t i = 0; i < work.size(); ++i) {
    const double times = std::round(work[i] / usual);
    if (times < 1 || !is_near(work[i] / usual, times)) {
      ++odd;
    } else if (times >= 2 && is_near(times_ms[i] / usual_ms, times)) {
      ++repeated;
    }
  }
  const auto steps = static_cast<double>(work.size());
  return static_cast<double>(odd) > kMostOdd * steps ? std::numeric_limits<double>::quiet_NaN()
                                                     : static_cast<double>(repeated) / steps;
}

}  // namespace eroica
