#include "pattern/summarize.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/saturate.h"
#include "pattern/attribution.h"
#include "pattern/collective_patterns.h"
#include "pattern/critical_path.h"
#include "pattern/device_work.h"
#include "pattern/edge_numbers.h"
#include "pattern/function_patterns.h"
#include "pattern/function_slots.h"
#include "pattern/hardware.h"
#include "pattern/host_walk.h"
#include "pattern/issuers.h"
#include "pattern/segments.h"
#include "pattern/shapes.h"
#include "pattern/signals.h"
#include "pattern/window.h"
#include "pattern/window_end.h"
#include "steps/marks.h"

namespace eroica {
namespace {

// The main thread's dataloader fetches, disjoint, since the window's start.
std::vector<Segment> fetches_of(const Marks& marks, const WindowClip& window) {
  std::vector<Segment> fetches;
  for (const Mark& mark : marks.marks) {
    if (mark.kind == MarkKind::kFetch) {
      fetches.push_back({mark.start_ns - window.start_ns, mark.end_ns - window.start_ns, kNoSlot});
    }
  }
  make_exclusive(fetches);
  return fetches;
}

void fill_steps(const Steps& steps, const std::vector<Segment>& fetches, const WindowClip& window,
                const Attribution& attribution, RankPattern& pattern) {
  pattern.step_source = steps.source;
  pattern.step_note = steps.note;
  SegmentCursor cursor(fetches);
  for (size_t i = 0; i < steps.steps.size(); ++i) {
    const Step& step = steps.steps[i];
    StepPattern out;
    out.number = step.number;
    out.start_ns = step.start_ns - window.start_ns;
    out.duration_ns = step.end_ns - step.start_ns;
    out.complete = step.complete;
    out.irregular = step.irregular;
    out.budget = attribution.step_budgets()[i];
    out.work = attribution.step_work()[i];
    out.launched_ns = attribution.launched_ns(i);
    cursor.split(
        out.start_ns, out.start_ns + out.duration_ns, [](int64_t, int64_t) {},
        [&](int64_t from, int64_t to, uint32_t) { out.fetch_ns += to - from; });
    pattern.steps.push_back(out);
  }
}

// bundle.json and the trace may both list a group; one entry is enough.
std::vector<ProcessGroup> known_groups(const Trace& trace, const SummarizeInput& input) {
  std::vector<ProcessGroup> known = input.groups;
  for (const ProcessGroup& group : trace.metadata.groups) {
    const auto same = [&](const ProcessGroup& other) { return other.name == group.name && other.ranks == group.ranks; };
    if (std::none_of(known.begin(), known.end(), same)) {
      known.push_back(group);
    }
  }
  return known;
}

// Who the rank is, as far as the bundle knows.
RankPattern pattern_of(const SummarizeInput& input) {
  RankPattern pattern;
  pattern.rank = input.rank.rank;
  pattern.host = input.rank.host;
  pattern.gpu = input.rank.gpu;
  pattern.world_size = input.world_size;
  pattern.job_id = input.job_id;
  pattern.labels = input.rank.labels;
  pattern.labels.insert(input.host_labels.begin(), input.host_labels.end());
  return pattern;
}

}  // namespace

RankPattern summarize_samples(const SummarizeInput& input, const WindowSpec& window) {
  RankPattern pattern = pattern_of(input);
  pattern.window_start_unix_ns = window.start_unix_ns;
  pattern.window_ns = window.duration_ns;
  add_unused_groups(input.groups, pattern);
  if (input.samples == nullptr) return pattern;
  add_signals(relevant_series(*input.samples, pattern.rank, pattern.host, input.machine, pattern.gpu),
              input.samples->base_unix_ns, pattern);
  return pattern;
}

RankPattern summarize(const Trace& trace, const SummarizeInput& input, NameTable& names) {
  RankPattern pattern = pattern_of(input);
  if (pattern.rank < 0) pattern.rank = trace.metadata.rank;
  if (pattern.host.empty()) pattern.host = trace.metadata.host_name;
  if (pattern.world_size < 0) pattern.world_size = trace.metadata.world_size;
  pattern.category_ns = trace.category_ns;
  pattern.category_count = trace.category_count;
  pattern.import = {trace.timed_events, trace.text_bytes, trace.defects, {}};

  const WindowClip window = window_of(trace, input.window, pattern.import.notes);
  const int64_t window_ns = window.end_ns - window.start_ns;
  pattern.window_start_unix_ns = saturating_add(trace.base_unix_ns, window.start_ns);
  pattern.window_ns = window_ns;

  const Marks marks = extract_marks(trace, input.step_marker);
  StepOptions step_options;
  step_options.window_start_ns = window.start_ns;
  step_options.window_end_ns = window.end_ns;
  if (!input.step_marker.empty() && !marks.from_marker) {
    pattern.import.notes.push_back(
        fmt::format("no annotation or Python function is named '{}' (--step-marker)", input.step_marker));
  }
  Steps steps = find_steps(marks, step_options);
  pattern.steps_numbered =
      steps.source == StepSource::kProfilerStep || number_steps(input.rank.edges, trace.base_unix_ns, steps);

  const bool has_samples =
      (input.samples != nullptr && !input.samples->series.empty()) || !trace.samples.series.empty();
  FunctionSlots slots(trace.names);
  Attribution attribution(window_ns, steps.steps, window.start_ns, has_samples);

  DeviceRoles roles(trace.names);
  ElementCounts elements(trace.names);
  DeviceWork work = gather_device_work(trace, window, roles, elements, slots);
  const bool gpu_job = work.seen;
  pattern.gpu_job = gpu_job;
  pattern.gpu = input.rank.gpu >= 0 ? input.rank.gpu : work.device;
  if (gpu_job && !trace.metadata.devices.empty()) {
    const size_t device = pattern.gpu >= 0 ? static_cast<size_t>(pattern.gpu) : 0;
    pattern.device = trace.metadata.devices[device < trace.metadata.devices.size() ? device : 0];
  }

  HostWalk walk(trace, slots, elements, window, gpu_job);
  const std::vector<Segment> fetches = fetches_of(marks, window);
  book_critical_path(trace, window, marks, fetches, work, walk, slots, attribution);

  IssuerLookup lookup(walk);
  IssuedNs issued = std::move(walk.issued_ns);
  book_issued_work(trace, window, lookup, roles, elements, slots, issued, attribution);
  add_host_collective_issuers(trace, std::move(walk.comm_calls), work, issued);
  pattern.budget = attribution.budget();
  begin_window_end(trace, window, input.window.has_value(), steps, pattern);
  fill_collectives(trace, window, work, lookup, known_groups(trace, input), input.rank.edges, steps, slots, pattern);
  fill_steps(steps, fetches, window, attribution, pattern);
  const std::vector<uint32_t> function_slots = fill_functions(slots, attribution, issued, names, pattern);
  add_final_frames(trace, window, marks, slots, names, pattern);
  for (const SampleSet* samples : {input.samples, &trace.samples}) {
    if (samples != nullptr) {
      const std::vector<const SampleSeries*> series =
          relevant_series(*samples, pattern.rank, pattern.host, input.machine, pattern.gpu);
      fill_hardware(attribution, function_slots, series, samples->base_unix_ns, pattern);
      add_signals(series, samples->base_unix_ns, pattern);
      add_final_cpu(series, samples->base_unix_ns, pattern);
    }
  }
  return pattern;
}

}  // namespace eroica
