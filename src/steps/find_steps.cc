#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "steps/step_finder.h"

namespace eroica {
namespace {

constexpr int64_t kTolerated = 50;  // a step may lose this fraction at the window's edge and still be whole

/// Without jobs' loops that hold the steps (a prefix may match both), and without the inner ones of a recursion.
std::vector<Step> steps_of_marks(std::span<const Mark> marks) {
  struct Open {
    size_t mark;
    uint32_t inner = 0;
  };
  std::vector<Open> open;
  std::vector<bool> dropped(marks.size());
  for (size_t i = 0; i < marks.size(); ++i) {
    while (!open.empty() && marks[open.back().mark].end_ns <= marks[i].start_ns) open.pop_back();
    const bool inside = !open.empty() && marks[i].end_ns <= marks[open.back().mark].end_ns;
    if (inside && marks[i].name_hash == marks[open.back().mark].name_hash) {
      dropped[i] = true;
      continue;
    }
    if (inside) {
      ++open.back().inner;
      if (open.back().inner == 2) dropped[open.back().mark] = true;
    }
    open.push_back({i});
  }

  std::vector<Step> steps;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (dropped[i]) continue;
    Step step{.number = marks[i].number, .start_ns = marks[i].start_ns, .end_ns = marks[i].end_ns};
    if (step.number < 0) step.number = static_cast<int64_t>(steps.size());
    if (!steps.empty()) step.start_ns = std::max(step.start_ns, steps.back().end_ns);  // overlap by rounding
    if (step.end_ns > step.start_ns) steps.push_back(step);
  }
  return steps;
}

void clip(std::vector<Step>& steps, int64_t from_ns, int64_t to_ns) {
  for (Step& step : steps) {
    const int64_t duration_ns = step.end_ns - step.start_ns;
    step.start_ns = std::max(step.start_ns, from_ns);
    step.end_ns = std::min(step.end_ns, to_ns);
    const int64_t left_ns = step.end_ns - step.start_ns;
    if (duration_ns - left_ns > duration_ns / kTolerated) step.complete = false;
  }
  std::erase_if(steps, [](const Step& step) { return step.end_ns <= step.start_ns; });
}

/// Recounts by where the marks start, so that clipped steps count what is left in them.
void count_marks(std::vector<Step>& steps, std::span<const Mark> marks) {
  for (Step& step : steps) step.fetches = step.optimizer_steps = 0;
  auto step = steps.begin();
  for (const Mark& mark : marks) {
    while (step != steps.end() && step->end_ns <= mark.start_ns) ++step;
    if (step == steps.end()) return;
    if (mark.start_ns < step->start_ns) continue;
    step->fetches += mark.kind == MarkKind::kFetch ? 1 : 0;
    step->optimizer_steps += mark.kind == MarkKind::kOptimizer ? 1 : 0;
  }
}

std::string counted(size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

size_t count_of(const std::vector<Step>& steps, bool irregular) {
  return static_cast<size_t>(
      std::ranges::count_if(steps, [&](const Step& s) { return irregular ? s.irregular : !s.complete; }));
}

std::string oddities(const std::vector<Step>& steps) {
  std::string text;
  if (const size_t cut = count_of(steps, false); cut > 0) text += fmt::format("; {} cut by the window's edge", cut);
  if (const size_t odd = count_of(steps, true); odd > 0) {
    text += fmt::format("; {} irregular (evaluation or skipped optimizer step)", odd);
  }
  return text;
}

std::string name_of(uint64_t name_hash, const MarkNames* names, std::string_view unnamed) {
  if (names != nullptr) {
    const auto found = std::ranges::lower_bound(*names, name_hash, {}, &MarkNames::value_type::first);
    if (found != names->end() && found->first == name_hash) return found->second;
  }
  return std::string(unnamed);
}

/// "after 1 fetch each", "after 4 fetches each", "after 2 to 5 fetches each".
std::string fetches_each(const std::vector<Step>& steps) {
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;
  for (const Step& step : steps) {
    if (!step.complete || step.irregular) continue;
    least = std::min(least, step.fetches);
    most = std::max(most, step.fetches);
  }
  if (most == 0) return "";
  if (least == most) return fmt::format(" after {} each", counted(most, "fetch", "fetches"));
  return fmt::format(" after {} to {} fetches each", least, most);
}

std::string sequence_note(const std::vector<Step>& steps, const SequenceFinder& finder, const MarkNames* names) {
  const std::string count = counted(steps.size(), "step", "steps");
  std::string text;
  if (const std::optional<Anchor> anchor = finder.anchor(); !anchor) {
    text = fmt::format("{} from optimizer steps and fetches", count);
  } else if (anchor->kind == MarkKind::kFetch) {
    text = fmt::format("{}, one from each {}: no optimizer step was recorded", count,
                       name_of(anchor->name_hash, names, "fetch"));
  } else {
    const std::string name = name_of(anchor->name_hash, names, "the optimizer's step");
    const std::string times = anchor->per_step > 1 ? fmt::format(" ({} in a row)", anchor->per_step) : "";
    text = fmt::format("{} from {}{}{}", count, name, times, fetches_each(steps));
  }
  if (finder.changes() > 0) {
    text += fmt::format("; the pattern changed {}", counted(finder.changes(), "time", "times"));
  }
  return text + oddities(steps);
}

/// The sequence's steps, the first one extended back to the window's start.
std::vector<Step> steps_of_sequence(std::span<const Mark> marks, const StepOptions& options, SequenceFinder& finder) {
  for (const Mark& mark : marks) finder.push(mark);
  std::vector<Step> steps = finder.finish(options.window_end_ns);
  if (!steps.empty() && steps.front().start_ns > options.window_start_ns) {
    if (steps.front().complete) {
      steps.insert(steps.begin(), {.number = 0, .start_ns = 0, .end_ns = steps.front().start_ns, .complete = false});
    }
    steps.front().start_ns = options.window_start_ns;
  }
  clip(steps, options.window_start_ns, options.window_end_ns);
  for (size_t i = 0; i < steps.size(); ++i) steps[i].number = static_cast<int64_t>(i);
  return steps;
}

}  // namespace

Steps find_steps(std::span<const Mark> marks, bool from_marker, const StepOptions& options) {
  StepOptions bounded = options;
  bounded.window_start_ns = std::clamp(options.window_start_ns, kEarliestNs, kLatestNs);
  bounded.window_end_ns = std::clamp(options.window_end_ns, kEarliestNs, kLatestNs);
  bounded.sequence.lookahead = true;
  Steps result;
  if (bounded.window_end_ns <= bounded.window_start_ns) {
    result.note = "the window is empty";
    return result;
  }

  std::vector<Mark> sorted(marks.begin(), marks.end());
  for (Mark& mark : sorted) mark = within_range(mark);
  std::ranges::sort(sorted, [](const Mark& a, const Mark& b) {
    return std::tuple(a.start_ns, -a.end_ns, a.kind, a.name_hash, a.number) <
           std::tuple(b.start_ns, -b.end_ns, b.kind, b.name_hash, b.number);
  });

  std::vector<Mark> explicit_marks;
  std::ranges::copy_if(sorted, std::back_inserter(explicit_marks),
                       [](const Mark& mark) { return mark.kind == MarkKind::kStep; });
  result.steps = steps_of_marks(explicit_marks);
  clip(result.steps, bounded.window_start_ns, bounded.window_end_ns);
  if (!result.steps.empty()) {
    result.source = from_marker ? StepSource::kMarker : StepSource::kProfilerStep;
    count_marks(result.steps, sorted);
    result.note = fmt::format(
        "{} from {}{}", counted(result.steps.size(), "step", "steps"),
        from_marker ? name_of(explicit_marks.front().name_hash, options.names, "the step marker") : "ProfilerStep",
        oddities(result.steps));
    return result;
  }

  SequenceFinder finder(bounded.sequence);
  result.steps = steps_of_sequence(sorted, bounded, finder);
  if (std::ranges::any_of(result.steps, [](const Step& step) { return step.complete; })) {
    result.source = StepSource::kSequence;
    count_marks(result.steps, sorted);
    result.note = sequence_note(result.steps, finder, options.names);
    return result;
  }

  result.source = StepSource::kWindow;
  result.steps = {{.number = 0, .start_ns = bounded.window_start_ns, .end_ns = bounded.window_end_ns}};
  count_marks(result.steps, sorted);
  result.note = "nothing repeats: the whole window is taken as one step (--step-marker NAME tells what a step is)";
  return result;
}

}  // namespace eroica
