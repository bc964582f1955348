#include "cli/cost_text.h"

#include <fmt/format.h>

namespace eroica {

std::string in_words(const WatchCost& cost) {
  std::string text;
  if (cost.probe_us_per_step >= 0) text = fmt::format("{:.0f} µs a step", cost.probe_us_per_step);
  if (cost.probe_percent >= 0) text += fmt::format(" ({:.2g} %)", cost.probe_percent);
  if (!text.empty()) text += " on each rank";
  if (cost.watcher_percent >= 0) {
    text += fmt::format("{}{:.2g} % of a core here", text.empty() ? "" : ", ", cost.watcher_percent);
  }
  return text;
}

}  // namespace eroica
