#include "steps/marks.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

namespace eroica {
namespace {

/// What an event's name says. Names are classified once each: events then need a look-up.
enum class NameClass : uint8_t { kNone, kProfilerStep, kOptimizer, kFetch, kFetchFrame, kMarker };

constexpr std::string_view kProfilerStep = "ProfilerStep";
constexpr std::string_view kOptimizer = "Optimizer.step#";
constexpr std::string_view kFetch = "enumerate(DataLoader)";

/// `file(line): function` → function; the whole text where it has no such form.
std::string_view python_function(std::string_view text) {
  const size_t at = text.rfind("): ");
  return at == std::string_view::npos ? text : text.substr(at + 3);
}

/// The `__next__` of a loader class: torch's own, its stateful variant, accelerate's, DALI's.
bool is_fetch_frame(std::string_view text) {
  if (python_function(text) != "__next__") return false;
  const std::string_view file = text.substr(0, text.rfind('('));
  return file.ends_with("dataloader.py") || file.ends_with("data_loader.py") ||
         file.find("nvidia/dali/") != std::string_view::npos;
}

class Marker {
 public:
  explicit Marker(std::string_view text) : text_(text), prefix_(text.ends_with('*')) {
    if (prefix_) text_.remove_suffix(1);
  }
  [[nodiscard]] bool given() const { return prefix_ || !text_.empty(); }
  [[nodiscard]] bool matches(std::string_view name) const {
    return given() && (prefix_ ? name.starts_with(text_) : name == text_);
  }

 private:
  std::string_view text_;
  bool prefix_;
};

NameClass classify(std::string_view text, const Marker& marker) {
  if (marker.matches(text) || marker.matches(python_function(text))) return NameClass::kMarker;
  if (text.starts_with(kProfilerStep)) return NameClass::kProfilerStep;
  if (text.starts_with(kOptimizer)) return NameClass::kOptimizer;
  if (text.starts_with(kFetch)) return NameClass::kFetch;
  return is_fetch_frame(text) ? NameClass::kFetchFrame : NameClass::kNone;
}

/// ProfilerStep#12 → 12, −1 = no number.
int64_t step_number(std::string_view text) {
  const size_t at = text.rfind('#');
  int64_t number = -1;
  if (at != std::string_view::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + at + 1, end, number);
    if (error != std::errc{} || stop != end || number < 0) return -1;
  }
  return number;
}

struct Candidate {
  const Event* event;
  NameClass name_class;
};

bool fits(NameClass name_class, Category category) {
  const bool annotation = category == Category::kAnnotation || category == Category::kOperator;
  switch (name_class) {
    case NameClass::kNone:
      return false;
    case NameClass::kFetchFrame:
      return category == Category::kPython;
    case NameClass::kMarker:
      return annotation || category == Category::kPython;
    default:
      return annotation;
  }
}

std::optional<MarkKind> kind_of(NameClass name_class) {
  switch (name_class) {
    case NameClass::kMarker:
    case NameClass::kProfilerStep:
      return MarkKind::kStep;
    case NameClass::kOptimizer:
      return MarkKind::kOptimizer;
    case NameClass::kFetch:
    case NameClass::kFetchFrame:
      return MarkKind::kFetch;
    case NameClass::kNone:
      break;
  }
  return std::nullopt;
}

/// One track's marks, without doubles: a fetch inside a fetch, an optimizer inside one of the same name.
std::vector<Mark> track_marks(const std::vector<Candidate>& candidates, const StringTable& names) {
  std::vector<Mark> marks;
  std::map<std::pair<MarkKind, uint64_t>, int64_t> covered_until_ns;
  for (const auto& [event, name_class] : candidates) {
    const MarkKind kind = *kind_of(name_class);
    const uint64_t name_hash = names.text_hash(event->name);
    if (kind != MarkKind::kStep) {
      const uint64_t double_of = kind == MarkKind::kFetch ? 0 : name_hash;
      auto [covered, first] = covered_until_ns.try_emplace({kind, double_of}, event->end_ns());
      if (!first && event->end_ns() <= covered->second && event->start_ns < covered->second) continue;
      covered->second = std::max(covered->second, event->end_ns());
    }
    const bool numbered = name_class == NameClass::kProfilerStep;
    marks.push_back({.kind = kind,
                     .name_hash = name_hash,
                     .start_ns = event->start_ns,
                     .end_ns = event->end_ns(),
                     .number = numbered ? step_number(names.text(event->name)) : -1});
  }
  return marks;
}

double total_ns(const std::vector<Mark>& marks, bool steps_only) {
  double sum = 0;
  for (const Mark& mark : marks) {
    if (!steps_only || mark.kind == MarkKind::kStep) sum += static_cast<double>(mark.end_ns - mark.start_ns);
  }
  return sum;
}

template <typename Measure>
size_t greatest(size_t count, Measure measure) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (measure(i) > measure(best)) best = i;
  }
  return best;
}

}  // namespace

Marks extract_marks(const Trace& trace, const std::string& step_marker) {
  Marks result;
  const Marker marker(step_marker);
  std::vector<NameClass> classes(trace.names.size());
  for (uint32_t id = 0; id < trace.names.size(); ++id) classes[id] = classify(trace.names.text(id), marker);

  // What stands on the host tracks, and of which classes there is any.
  std::vector<std::vector<Candidate>> candidates(trace.tracks.size());
  bool fetch_annotated = false;
  for (size_t track = 0; track < trace.tracks.size(); ++track) {
    if (trace.tracks[track].device) continue;
    for (const Event& event : trace.tracks[track].events) {
      const NameClass name_class = classes[event.name];
      if (name_class == NameClass::kNone || !fits(name_class, event.category)) continue;
      candidates[track].push_back({&event, name_class});
      fetch_annotated = fetch_annotated || name_class == NameClass::kFetch;
      result.from_marker = result.from_marker || name_class == NameClass::kMarker;
    }
  }

  const NameClass left_out = result.from_marker ? NameClass::kProfilerStep : NameClass::kNone;
  std::vector<std::vector<Mark>> by_track(trace.tracks.size());
  std::map<uint64_t, std::string> names;
  for (size_t track = 0; track < trace.tracks.size(); ++track) {
    std::erase_if(candidates[track], [&](const Candidate& candidate) {
      return candidate.name_class == left_out || (fetch_annotated && candidate.name_class == NameClass::kFetchFrame);
    });
    by_track[track] = track_marks(candidates[track], trace.names);
    for (const Candidate& candidate : candidates[track]) {
      if (candidate.name_class == NameClass::kProfilerStep) continue;
      const uint32_t name = candidate.event->name;
      names.try_emplace(trace.names.text_hash(name), trace.names.text(name));
    }
  }
  result.names.assign(names.begin(), names.end());

  const size_t count = trace.tracks.size();
  const size_t step_track = greatest(count, [&](size_t i) { return total_ns(by_track[i], true); });
  for (size_t track = 0; track < count; ++track) {
    for (const Mark& mark : by_track[track]) {
      if (mark.kind != MarkKind::kStep || track == step_track) result.marks.push_back(mark);
    }
  }
  std::ranges::stable_sort(result.marks, {}, &Mark::start_ns);

  // The busiest by marks, else the process's first thread (on Linux its id is the process's), else by events.
  const size_t by_marks = greatest(count, [&](size_t i) { return total_ns(by_track[i], false); });
  const size_t by_events = greatest(count, [&](size_t i) {
    const Track& track = trace.tracks[i];
    const size_t events = track.device ? 0 : track.events.size();
    return std::pair(events > 0 && track.tid == track.pid, events);
  });
  const size_t main = result.marks.empty() ? by_events : by_marks;
  if (main < count && !trace.tracks[main].device && !trace.tracks[main].events.empty()) {
    result.main_track = static_cast<uint32_t>(main);
    result.has_main_track = true;
  }
  return result;
}

Steps find_steps(const Marks& marks, StepOptions options) {
  options.names = &marks.names;
  return find_steps(std::span<const Mark>(marks.marks), marks.from_marker, options);
}

}  // namespace eroica
