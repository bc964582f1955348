#include "pattern/window.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "pattern/identity.h"

namespace eroica {
namespace {

// From the first event's start to the last event's start; the profiler's own span is no event of the job.
WindowClip extent_of(const Trace& trace) {
  const auto of_job = [](const Event& event) { return event.category != Category::kTraceSpan; };
  WindowClip window{INT64_MAX, INT64_MIN};
  for (const Track& track : trace.tracks) {
    const std::span<const Event> events = track.events.span();
    const auto first = std::find_if(events.begin(), events.end(), of_job);
    if (first != events.end()) {
      const auto last = std::find_if(events.rbegin(), events.rend(), of_job);
      window.start_ns = std::min(window.start_ns, first->start_ns);
      window.end_ns = std::max(window.end_ns, last->start_ns);
    }
  }
  return window.start_ns <= window.end_ns ? window : WindowClip{0, 0};
}

// What ran on behind the window's end is not in any figure: a hang or a long last step would go without a word.
void tell_overhang(const Trace& trace, const WindowClip& window, std::vector<std::string>& notes) {
  const Event* latest = nullptr;
  for (const Track& track : trace.tracks) {
    for (const Event& event : track.events) {
      const bool counts = event.category != Category::kTraceSpan && event.category != Category::kPython;
      if (counts && (latest == nullptr || event.end_ns() > latest->end_ns())) {
        latest = &event;
      }
    }
  }
  const int64_t overhang_ns = latest == nullptr ? 0 : latest->end_ns() - window.end_ns;
  if (overhang_ns > (window.end_ns - window.start_ns) / 20) {
    notes.push_back(
        fmt::format("{} goes on for {:.1f} ms after the last event began, where the window ends; that time "
                    "is in no figure",
                    canonical_operator(trace.names.text(latest->name)).text, static_cast<double>(overhang_ns) * 1e-6));
  }
}

}  // namespace

bool WindowClip::clip(const Event& event, int64_t& from_ns, int64_t& to_ns) const {
  from_ns = std::max(event.start_ns, start_ns) - start_ns;
  to_ns = std::min(event.end_ns(), end_ns) - start_ns;
  return from_ns < to_ns || (from_ns == to_ns && event.duration_ns == 0);
}

WindowClip window_of(const Trace& trace, const std::optional<WindowSpec>& named, std::vector<std::string>& notes) {
  const WindowClip extent = extent_of(trace);
  if (!named) {
    tell_overhang(trace, extent, notes);
    return extent;
  }
  int64_t start = 0;
  int64_t end = 0;
  const bool fits = !__builtin_sub_overflow(named->start_unix_ns, trace.base_unix_ns, &start) &&
                    !__builtin_add_overflow(start, named->duration_ns, &end);
  if (!fits || named->duration_ns <= 0 || start > extent.end_ns || end < extent.start_ns) {
    notes.emplace_back("the trace lies wholly outside the window that bundle.json names; its own extent is used");
    return extent;
  }
  return {start, end};
}

}  // namespace eroica
