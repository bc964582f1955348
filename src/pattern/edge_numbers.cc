#include "pattern/edge_numbers.h"

#include <algorithm>
#include <vector>

#include "base/saturate.h"

namespace eroica {
namespace {

constexpr int64_t kUnsure_ns =
    1'000'000;  // between an end and the recorder's note of it, and between two clock readings
constexpr int64_t kMostNumber = INT64_MAX / 4;

/// Numbers that the first of several things may have.
struct Range {
  int64_t least = 0;
  int64_t most = kMostNumber;

  void meet(int64_t other_least, int64_t other_most) {
    least = std::max(least, other_least);
    most = std::min(most, other_most);
  }
};

const GroupCount* count_of(const WindowEdge& edge, const std::string& group) {
  const auto found = std::ranges::find(edge.groups, group, &GroupCount::group);
  const bool sane = found != edge.groups.end() && std::max(found->last_enqueued, found->last_completed) < kMostNumber;
  return sane ? &*found : nullptr;
}

/// Which run was the last one before a moment: the lowest and the highest place that may be meant, −1 = none yet.
struct Place {
  int64_t least = -1;
  int64_t most = -1;
};

Place place_at(std::span<const CountedRun> runs, int64_t CountedRun::*time, int64_t unix_ns) {
  const int64_t surely = saturating_subtract(unix_ns, kUnsure_ns);
  const int64_t perhaps = saturating_add(unix_ns, kUnsure_ns);
  int64_t last = -1;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].*time <= surely && (last < 0 || runs[i].*time >= runs[static_cast<size_t>(last)].*time)) {
      last = static_cast<int64_t>(i);
    }
  }
  Place place{last, last};
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].*time <= surely || runs[i].*time > perhaps) continue;
    place.least = std::min(place.least, static_cast<int64_t>(i));
    place.most = std::max(place.most, static_cast<int64_t>(i));
  }
  return place;
}

/// How many runs ended within so long a time at most.
int64_t most_within(std::span<const CountedRun> runs, int64_t length_ns) {
  std::vector<int64_t> ends;
  ends.reserve(runs.size());
  for (const CountedRun& run : runs) ends.push_back(run.ended_unix_ns);
  std::ranges::sort(ends);
  size_t from = 0;
  size_t most = 0;
  for (size_t to = 0; to < ends.size(); ++to) {
    while (saturating_subtract(ends[to], ends[from]) > length_ns) ++from;
    most = std::max(most, to - from + 1);
  }
  return static_cast<int64_t>(most);
}

/// The place of the step that ended then.
std::optional<int64_t> step_ended_at(const std::vector<Step>& steps, int64_t time_ns) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t tolerated_ns = (steps[i].end_ns - steps[i].start_ns) / 4;
    const int64_t distance_ns = saturating_subtract(time_ns, steps[i].end_ns);
    if (distance_ns >= -tolerated_ns && distance_ns <= tolerated_ns) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

}  // namespace

bool number_steps(const WindowEdges& edges, int64_t base_unix_ns, Steps& steps) {
  if (steps.source != StepSource::kSequence || steps.steps.empty() || !edges.start || !edges.end) return false;
  if (edges.start->step >= kMostNumber || edges.end->step >= kMostNumber || edges.end->step < 1) return false;
  const auto ended_at = [&](const WindowEdge& edge) {
    return step_ended_at(steps.steps, saturating_subtract(edge.step_unix_ns, base_unix_ns));
  };
  const std::optional<int64_t> last = ended_at(*edges.end);
  if (!last) return false;
  const int64_t first_number = edges.end->step - *last;
  // Mostly that step ended before the window, and the first one in it is the next.
  const bool before = saturating_subtract(edges.start->step_unix_ns, base_unix_ns) < steps.steps.front().start_ns;
  const std::optional<int64_t> first = before ? -1 : ended_at(*edges.start);
  if (!first || edges.start->step - *first != first_number || first_number < 0) return false;
  for (size_t i = 0; i < steps.steps.size(); ++i) steps.steps[i].number = first_number + static_cast<int64_t>(i);
  return true;
}

std::optional<int64_t> first_sequence(std::span<const CountedRun> runs, bool on_device, const WindowEdges& edges,
                                      const std::string& group, int64_t window_end_unix_ns) {
  if (runs.empty() || !edges.start || !edges.end) return std::nullopt;
  const GroupCount* at_start = count_of(*edges.start, group);
  const GroupCount* at_end = count_of(*edges.end, group);
  if (at_start == nullptr || at_end == nullptr) return std::nullopt;

  // What ended between the window's end and the reading of its edge is not in the trace.
  const int64_t late_ns = saturating_subtract(edges.end->unix_ns, window_end_unix_ns);
  const int64_t unseen = late_ns <= 0 ? 0 : most_within(runs, late_ns);
  const Place ended = place_at(runs, &CountedRun::ended_unix_ns, edges.end->unix_ns);
  Range first;
  if (on_device) {
    const Place before = place_at(runs, &CountedRun::called_unix_ns, edges.start->unix_ns);
    first.meet(at_start->last_enqueued - before.most, at_start->last_enqueued - before.least);
    const Place called = place_at(runs, &CountedRun::called_unix_ns, edges.end->unix_ns);
    first.meet(at_end->last_completed - ended.most - unseen, at_end->last_enqueued - called.least);
  } else {
    const Place before = place_at(runs, &CountedRun::ended_unix_ns, edges.start->unix_ns);
    // What ran already when the profiler started is not in the trace.
    const int64_t running = std::max<int64_t>(at_start->last_enqueued - at_start->last_completed, 0);
    first.meet(at_start->last_completed - before.most,
               at_start->last_completed - before.least + (before.least < 0 ? running : 0));
    if (ended.least < 0) return std::nullopt;
    first.meet(at_end->last_completed - ended.most - unseen, at_end->last_completed - ended.least);
  }
  return first.least == first.most ? std::optional(first.least) : std::nullopt;
}

}  // namespace eroica
