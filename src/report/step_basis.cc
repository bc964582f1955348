#include "report/step_basis.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/rank_list.h"
#include "base/robust.h"

namespace eroica {
namespace {

/// Critical time below this is too coarsely recorded per step to tell where it lies.
constexpr int64_t kTelling_ns = 100'000;

/// A step that launched more device compute than it lasted ended before that was done; what follows pays for it.
bool runs_ahead(const RankPattern& pattern, const StepBasis& basis) {
  constexpr double kMore = 1.05;
  constexpr double kUneven = 1.5;
  size_t known = 0;
  size_t early = 0;
  int64_t shortest_ns = std::numeric_limits<int64_t>::max();
  int64_t longest_ns = 0;
  for (const uint32_t i : basis.counted) {
    const StepPattern& step = pattern.steps[i];
    shortest_ns = std::min(shortest_ns, step.duration_ns);
    longest_ns = std::max(longest_ns, step.duration_ns);
    if (step.launched_ns <= 0) continue;
    ++known;
    if (static_cast<double>(step.launched_ns) > kMore * static_cast<double>(step.duration_ns)) ++early;
  }
  const bool uneven = static_cast<double>(longest_ns) > kUneven * static_cast<double>(shortest_ns);
  return pattern.gpu_job && uneven && early > 0 && 4 * early >= known;
}

void set_mean_step(const RankPattern& pattern, StepBasis& basis) {
  basis.ahead = runs_ahead(pattern, basis);
  double sum_ns = 0;
  for (const uint32_t i : basis.counted) sum_ns += static_cast<double>(pattern.steps[i].duration_ns);
  basis.step_ns = sum_ns / static_cast<double>(basis.counted.size());
  if (pattern.window_ns > 0) basis.scale = basis.step_ns / static_cast<double>(pattern.window_ns);
}

void use_common_steps(std::vector<RankView>& ranks, std::vector<std::string>& notes) {
  std::map<int64_t, size_t> holders;  // by step number
  size_t with_steps = 0;
  size_t most = 0;
  for (const RankView& view : ranks) {
    if (view.basis.per_window) continue;
    if (!view.pattern->steps_numbered) return;
    ++with_steps;
    most = std::max(most, view.basis.counted.size());
    for (const uint32_t i : view.basis.counted) ++holders[view.pattern->steps[i].number];
  }
  std::erase_if(holders, [&](const auto& entry) { return entry.second != with_steps; });
  if (with_steps < 2 || holders.size() == most) return;
  if (holders.size() * 2 < most) {
    notes.emplace_back("the ranks have few steps in common: each rank's figures are means over its own steps");
    return;
  }
  for (RankView& view : ranks) {
    if (view.basis.per_window) continue;
    std::erase_if(view.basis.counted, [&](uint32_t i) { return !holders.contains(view.pattern->steps[i].number); });
    set_mean_step(*view.pattern, view.basis);
  }
  notes.push_back(fmt::format("figures are means over the {} steps that all ranks have, of up to {} on a rank",
                              holders.size(), most));
}

void scale_windows(std::vector<RankView>& ranks, std::vector<std::string>& notes) {
  std::vector<double> steps_ns;
  std::vector<int32_t> scaled;
  for (const RankView& view : ranks) {
    if (!view.basis.per_window) steps_ns.push_back(view.basis.step_ns);
  }
  if (steps_ns.empty()) return;
  for (RankView& view : ranks) {
    if (!view.basis.per_window || view.pattern->window_ns <= 0) continue;
    view.basis.scaled_window = true;
    view.basis.step_ns = median(steps_ns);
    view.basis.scale = view.basis.step_ns / static_cast<double>(view.pattern->window_ns);
    scaled.push_back(view.pattern->rank);
  }
  if (!scaled.empty()) {
    notes.push_back(
        fmt::format("{}: no steps were found; its window is scaled to the other ranks' step", rank_list(scaled)));
  }
}

}  // namespace

void make_comparable(std::vector<RankView>& ranks, std::vector<std::string>& notes) {
  use_common_steps(ranks, notes);
  scale_windows(ranks, notes);
}

double window_to_step(const StepBasis& basis, std::span<const uint32_t> step_exposed_us, int64_t exposed_ns) {
  if (basis.per_window || step_exposed_us.empty() || exposed_ns < kTelling_ns) return basis.scale;
  double counted_us = 0;
  for (const uint32_t i : basis.counted) counted_us += i < step_exposed_us.size() ? step_exposed_us[i] : 0;
  const double share = std::min(1.0, counted_us * 1e3 / static_cast<double>(exposed_ns));
  return share / static_cast<double>(basis.counted.size());
}

StepBasis step_basis(const RankPattern& pattern) {
  StepBasis basis;
  basis.step_ns = static_cast<double>(pattern.window_ns);
  basis.per_window = pattern.step_source == StepSource::kWindow || pattern.steps.empty();
  if (basis.per_window) return basis;
  for (uint32_t i = 0; i < pattern.steps.size(); ++i) {
    if (pattern.steps[i].complete && !pattern.steps[i].irregular) basis.counted.push_back(i);
  }
  if (basis.counted.empty()) {
    for (uint32_t i = 0; i < pattern.steps.size(); ++i) basis.counted.push_back(i);
  }
  set_mean_step(pattern, basis);
  return basis;
}

double mean_step_ms(const StepBasis& basis, std::span<const uint32_t> series_us) {
  double sum_us = 0;
  for (const uint32_t i : basis.counted) {
    if (i < series_us.size()) sum_us += series_us[i];
  }
  return basis.counted.empty() ? 0 : sum_us * 1e-3 / static_cast<double>(basis.counted.size());
}

}  // namespace eroica
