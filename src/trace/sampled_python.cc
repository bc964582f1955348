#include "trace/sampled_python.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "base/saturate.h"

namespace eroica {
namespace {

constexpr size_t kMostOpen = 64;  // deeper than what is around a Python call
constexpr size_t kNone = SIZE_MAX;

struct Span {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t name;
  size_t parent = kNone;  // in the list of spans
};

/// On Linux the first thread's id is the process's.
std::optional<size_t> main_track(const Trace& trace) {
  for (size_t i = 0; i < trace.tracks.size(); ++i) {
    const Track& track = trace.tracks[i];
    if (!track.device && !track.events.empty() && track.tid == track.pid) return i;
  }
  return std::nullopt;
}

/// What was sampled, by start, on the trace's clock.
std::vector<Span> spans_of(const Trace& sampled, Trace& trace) {
  std::vector<Span> spans;
  const int64_t shift_ns = saturating_subtract(sampled.base_unix_ns, trace.base_unix_ns);
  for (const Track& track : sampled.tracks) {
    std::vector<size_t> open;
    for (const Event& event : track.events) {
      if (event.category != Category::kPython) continue;
      const int64_t start_ns = saturating_add(event.start_ns, shift_ns);
      const int64_t end_ns = saturating_add(event.end_ns(), shift_ns);
      while (!open.empty() && spans[open.back()].end_ns <= start_ns) open.pop_back();
      spans.push_back(
          {start_ns, end_ns, trace.names.intern(sampled.names.text(event.name)), open.empty() ? kNone : open.back()});
      open.push_back(spans.size() - 1);
    }
  }
  return spans;
}

/// The events of a track that are open at rising times, outermost first.
class OpenEvents {
 public:
  explicit OpenEvents(const Track& track) : events_(track.events.span()) {}

  std::span<const Event* const> at(int64_t time_ns) {
    for (; next_ < events_.size() && events_[next_].start_ns < time_ns; ++next_) {
      close_before(events_[next_].start_ns);
      if (open_.size() < kMostOpen) open_.push_back(&events_[next_]);
    }
    close_before(time_ns);
    return open_;
  }

 private:
  void close_before(int64_t time_ns) {
    while (!open_.empty() && open_.back()->end_ns() <= time_ns) open_.pop_back();
  }

  std::span<const Event> events_;
  size_t next_ = 0;
  std::vector<const Event*> open_;
};

std::vector<size_t> ordered(const std::vector<Span>& spans, int64_t Span::*by) {
  std::vector<size_t> order(spans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return spans[i].*by; });
  return order;
}

void fit_starts(const Track& track, std::vector<Span>& spans) {
  OpenEvents open(track);
  for (const size_t i : ordered(spans, &Span::start_ns)) {
    Span& span = spans[i];
    for (const Event* event : open.at(span.start_ns)) {
      if (event->end_ns() <= span.start_ns || event->end_ns() >= span.end_ns) continue;
      if (event->end_ns() - span.start_ns < span.end_ns - event->end_ns()) {
        span.start_ns = event->end_ns();
        break;
      }
      span.end_ns = event->end_ns();
    }
  }
}

void fit_ends(const Track& track, std::vector<Span>& spans) {
  OpenEvents open(track);
  for (const size_t i : ordered(spans, &Span::end_ns)) {
    Span& span = spans[i];
    for (const Event* event : open.at(span.end_ns)) {
      if (event->end_ns() <= span.end_ns || event->start_ns <= span.start_ns) continue;
      span.end_ns = event->start_ns;
      break;
    }
  }
}

/// Parents come before their children.
void fit_into_parents(std::vector<Span>& spans) {
  for (Span& span : spans) {
    if (span.parent == kNone) continue;
    span.start_ns = std::max(span.start_ns, spans[span.parent].start_ns);
    span.end_ns = std::min(span.end_ns, spans[span.parent].end_ns);
  }
}

}  // namespace

bool add_sampled_python(Trace& trace, const Trace& sampled) {
  const std::optional<size_t> main = main_track(trace);
  constexpr auto kPython = static_cast<size_t>(Category::kPython);
  if (!main || trace.category_count[kPython] > 0) return false;
  std::vector<Span> spans = spans_of(sampled, trace);
  Track& track = trace.tracks[*main];
  fit_starts(track, spans);
  fit_ends(track, spans);
  fit_into_parents(spans);
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    if (span.end_ns <= span.start_ns) continue;
    Event event{};
    event.start_ns = span.start_ns;
    event.duration_ns = span.end_ns - span.start_ns;
    event.name = span.name;
    event.id = static_cast<uint32_t>(i);
    event.link = span.parent == kNone ? Event::kNoId : static_cast<uint32_t>(span.parent);
    event.category = Category::kPython;
    track.events.push_back(event);
    ++trace.timed_events;
    ++trace.category_count[kPython];
    trace.category_ns[kPython] = saturating_add(trace.category_ns[kPython], event.duration_ns);
  }
  trace.text_bytes += sampled.text_bytes;
  trace.defects.merge(sampled.defects);
  trace.sort();
  return true;
}

}  // namespace eroica
