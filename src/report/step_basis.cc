#include "report/step_basis.h"

namespace eroica {

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
  double sum_ns = 0;
  for (const uint32_t i : basis.counted) sum_ns += static_cast<double>(pattern.steps[i].duration_ns);
  basis.step_ns = sum_ns / static_cast<double>(basis.counted.size());
  if (pattern.window_ns > 0) basis.scale = basis.step_ns / static_cast<double>(pattern.window_ns);
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
