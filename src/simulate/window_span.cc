#include "simulate/window_span.h"

#include <algorithm>

#include "simulate/random.h"

namespace eroica {

WindowSpan profiled_window(const Plant& plant, const Timeline& timeline) {
  WindowSpan window{INT64_MAX, 0};
  for (const RankTimeline& rank : timeline.ranks) {
    if (rank.step_start_ns.size() > 1) window.start_ns = std::min(window.start_ns, rank.step_start_ns[1]);
  }
  window.end_ns = timeline.end_ns;
  if (window.start_ns == INT64_MAX) window.start_ns = 0;
  if (!plant.dialect.cut_window || timeline.blocked) return window;
  Random random(plant.job.seed, "window");
  const int64_t step = (window.end_ns - window.start_ns) / std::max(1, plant.job.steps);
  window.start_ns += static_cast<int64_t>(static_cast<double>(step) * random.uniform(0.1, 0.8));
  window.end_ns -= static_cast<int64_t>(static_cast<double>(step) * random.uniform(0.1, 0.6));
  return window;
}

}  // namespace eroica
