#include "pattern/window_end.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/robust.h"
#include "base/saturate.h"
#include "pattern/wire_limits.h"

namespace eroica {
namespace {

constexpr int64_t kRounding_ns = 2'000;          // of times that were written as µs
constexpr int64_t kQuietAnyway_ns = 50'000'000;  // where no steps tell how long is long
constexpr double kQuietSteps = 0.5;

bool is_device_work(const Event& event) {
  return event.category == Category::kKernel || event.category == Category::kMemcpy ||
         event.category == Category::kMemset;
}

int64_t last_start(const Track& track) {
  for (size_t i = track.events.size(); i-- > 0;) {
    if (track.events[i].category != Category::kTraceSpan) return track.events[i].start_ns;
  }
  return INT64_MIN;
}

// When the device began its last work, or on CPU jobs any thread its last call; since the window's start.
int64_t last_begin(const Trace& trace, const WindowClip& window, bool gpu_job) {
  int64_t last = window.start_ns;
  for (const Track& track : trace.tracks) {
    if (!gpu_job || track.device) last = std::max(last, last_start(track));
  }
  return last - window.start_ns;
}

int64_t quiet_bound(const Steps& steps) {
  std::vector<double> durations;
  if (steps.source != StepSource::kWindow) {
    for (const Step& step : steps.steps) {
      if (step.complete) durations.push_back(static_cast<double>(step.end_ns - step.start_ns));
    }
  }
  return durations.empty() ? kQuietAnyway_ns
                           : std::max(kQuietAnyway_ns / 10, static_cast<int64_t>(kQuietSteps * median(durations)));
}

// A call that issued a collective to a device.
struct Call {
  int64_t start_ns;  ///< on the trace's axis
  uint32_t correlation;
  uint32_t collective;  ///< in Trace::collectives
};

std::vector<Call> collective_calls(const Trace& trace, const WindowClip& window) {
  std::vector<Call> calls;
  for (const Track& track : trace.tracks) {
    if (track.device) continue;
    int64_t open_until = INT64_MIN;
    uint32_t collective = 0;
    for (const Event& event : track.events) {
      const bool may_tell = event.category == Category::kOperator || event.category == Category::kAnnotation;
      if (may_tell && event.detail != 0 && trace.op_args[event.detail].collective != 0) {
        collective = trace.op_args[event.detail].collective;
        open_until = event.end_ns();
      } else if ((event.category == Category::kRuntime || event.category == Category::kDriver) &&
                 event.start_ns < open_until && event.id != Event::kNoId && event.start_ns >= window.start_ns) {
        calls.push_back({event.start_ns, event.id, collective});
        open_until = INT64_MIN;  // the first launch is the collective's
      }
    }
  }
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return std::tie(a.start_ns, a.correlation) < std::tie(b.start_ns, b.correlation);
  });
  return calls;
}

// When the last work that ended did so; since the window's start.
int64_t device_free(const Trace& trace, const WindowClip& window, int64_t until_ns) {
  int64_t free = window.start_ns;
  for (const Track& track : trace.tracks) {
    if (!track.device) continue;
    for (const Event& event : track.events) {
      if (is_device_work(event) && event.end_ns() < until_ns) free = std::max(free, event.end_ns());
    }
  }
  return free - window.start_ns;
}

}  // namespace

void begin_window_end(const Trace& trace, const WindowClip& window, bool named, const Steps& steps,
                      RankPattern& pattern) {
  int64_t last_end = window.start_ns;
  int64_t span_end = window.end_ns;
  for (const Track& track : trace.tracks) {
    for (const Event& event : track.events) {
      int64_t& end = event.category == Category::kTraceSpan ? span_end : last_end;
      end = std::max(end, event.end_ns());
    }
  }
  // Python calls that are open when the profiler stops may be given a later end; a span that tells of another time does
  // not count.
  const int64_t observed = named || last_end <= window.start_ns ? window.end_ns : std::max(span_end, last_end);
  pattern.end.observed_ns = saturating_subtract(observed, window.start_ns);
  pattern.end.last_event_ns = std::min(saturating_subtract(last_end, window.start_ns), pattern.end.observed_ns);
  const int64_t quiet = pattern.end.observed_ns - last_begin(trace, window, pattern.gpu_job);
  pattern.end.quiet_ns = quiet > quiet_bound(steps) ? quiet : 0;
}

void fill_open_collectives(const Trace& trace, const WindowClip& window, const DeviceWork& work, CollectiveTable& table,
                           CollectiveKinds& kinds, RankPattern& pattern) {
  if (pattern.end.quiet_ns == 0) return;
  // What runs on is written as ending when the profiler stopped, more or less.
  const int64_t until = window.start_ns + pattern.end.observed_ns - std::max(kRounding_ns, pattern.end.quiet_ns / 100);
  struct Known {
    int64_t longest_ns = 0;
    std::set<std::pair<std::string, int64_t>> ended;  // kind and bytes
    bool any_open = false;
    OpenCollective open;
    int64_t called_ns = INT64_MAX;
    int64_t last_called_ns = INT64_MIN;  // of those that ended
  };
  std::map<uint32_t, Known> groups;
  const std::vector<Call> calls = collective_calls(trace, window);
  std::unordered_map<uint32_t, int64_t> called;  // by correlation, since the window's start
  for (const Call& call : calls) called.emplace(call.correlation, call.start_ns - window.start_ns);
  std::unordered_set<uint32_t> ended_ids;
  std::unordered_set<uint32_t> open_ids;
  const auto take = [](Known& group, OpenCollective open, int64_t called_ns) {
    if (group.any_open && group.called_ns <= called_ns) return;
    group.any_open = true;
    group.called_ns = called_ns;
    group.open = std::move(open);
  };
  for (size_t i = 0; i < work.runs.size(); ++i) {
    const CollectiveRun& run = work.runs[i];
    const CollectiveInstance& instance = pattern.instances[i];
    const CollectiveSummary& summary = table.summaries()[instance.summary];
    Known& group = groups[summary.group];
    const bool open = run.event->end_ns() >= until;
    if (trace.tracks[run.track].device) (open ? open_ids : ended_ids).insert(run.event->id);
    if (!open) {
      group.longest_ns = std::max(group.longest_ns, instance.duration_ns);
      group.ended.insert({summary.kind, std::max<int64_t>(instance.bytes, 0)});
      continue;
    }
    const auto call = called.find(run.event->id);
    take(group,
         {summary.kind, summary.group, instance.sequence, instance.start_ns, std::max<int64_t>(instance.bytes, 0), 0,
          true, false},
         call == called.end() ? run.start_ns : call->second);
  }
  const int64_t free = calls.empty() ? 0 : device_free(trace, window, until);
  std::vector<uint32_t> group_of(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    group_of[i] = table.group_of(&trace.collectives[calls[i].collective], "");
    if (ended_ids.contains(calls[i].correlation)) groups[group_of[i]].last_called_ns = calls[i].start_ns;
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (ended_ids.contains(call.correlation) || open_ids.contains(call.correlation)) continue;
    Known& group = groups[group_of[i]];
    if (call.start_ns <= group.last_called_ns) continue;
    const CollectiveArgs& args = trace.collectives[call.collective];
    const int64_t called_ns = call.start_ns - window.start_ns;
    OpenCollective open;
    open.kind = args.kind != 0 ? kinds.of(args.kind) : "collective";
    open.group = group_of[i];
    open.sequence = args.sequence;
    open.since_ns = std::max(called_ns, free);
    open.bytes = std::max<int64_t>(payload_bytes(args, trace.names), 0);
    take(group, std::move(open), called_ns);
  }
  std::vector<const Known*> order;
  for (auto& [index, group] : groups) {
    if (!group.any_open) continue;
    group.open.longest_ns = group.longest_ns;
    group.open.unusual = !group.ended.empty() && !group.ended.contains({group.open.kind, group.open.bytes});
    order.push_back(&group);
  }
  // What runs is waited for; what was only called stands behind it.
  std::stable_sort(order.begin(), order.end(), [](const Known* a, const Known* b) {
    return std::tie(b->open.begun, a->called_ns) < std::tie(a->open.begun, b->called_ns);
  });
  for (const Known* group : order) {
    if (pattern.end.open.size() < kMaxOpenCollectives) pattern.end.open.push_back(group->open);
  }
}

void add_final_frames(const Trace& trace, const WindowClip& window, const Marks& marks, FunctionSlots& slots,
                      NameTable& names, RankPattern& pattern) {
  if (pattern.end.quiet_ns == 0 || !marks.has_main_track) return;
  const Track& track = trace.tracks[marks.main_track];
  int64_t latest = INT64_MIN;
  for (const Event& event : track.events) {
    if (event.category == Category::kPython) latest = std::max(latest, event.end_ns());
  }
  const int64_t until = std::min(latest, window.end_ns) - kRounding_ns;
  uint32_t frame = kNoSlot;
  for (const Event& event : track.events) {
    if (event.category == Category::kPython && event.end_ns() >= until && event.start_ns < window.end_ns &&
        event.duration_ns > 0) {
      frame = slots.frame(frame, event.name);
    }
  }
  if (frame == kNoSlot) return;
  pattern.end.frame = slots.describe(frame, names);
  pattern.end.line = slots[frame].line;
  if (const uint32_t user = slots[frame].user; user != kNoSlot) {
    pattern.end.user_frame = slots.describe(user, names);
    pattern.end.user_line = slots[user].line;
  }
}

void add_final_cpu(std::span<const SampleSeries* const> series, int64_t base_unix_ns, RankPattern& pattern) {
  if (pattern.end.quiet_ns == 0) return;
  const int64_t origin = saturating_subtract(base_unix_ns, pattern.window_start_unix_ns);
  const std::string entity = "rank " + std::to_string(pattern.rank);
  for (const SampleSeries* one : series) {
    if (one->metric != "cpu.run" || one->entity != entity || one->samples.empty()) continue;
    pattern.end.sampled_ns = std::max<int64_t>(saturating_add(one->samples.back().time_ns, origin), 0);
    // The second half of what the rank was quiet for: whatever it did last is over then.
    const int64_t from = pattern.end.observed_ns - pattern.end.quiet_ns / 2;
    std::vector<double> values;
    for (const Sample& sample : one->samples) {
      const int64_t at = saturating_add(sample.time_ns, origin);
      if (at >= from && at <= pattern.end.observed_ns) values.push_back(sample.value);
    }
    if (!values.empty()) pattern.end.cpu_run = std::max(0.0, median(values));
  }
}

}  // namespace eroica
