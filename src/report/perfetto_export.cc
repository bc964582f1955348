#include "report/perfetto_export.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "base/saturate.h"
#include "compare/clock_alignment.h"
#include "report/collective_ends.h"
#include "report/lanes.h"
#include "report/trace_json_writer.h"

namespace eroica {
namespace {

/// A rank with its place on the merged time axis, which begins at 0.
struct Placed {
  const ExportRank* rank = nullptr;
  int64_t pid = 0;
  bool aligned = true;
  int64_t offset_ns = 0;     // to add to its clock's Unix time
  int64_t from_unix_ns = 0;  // what is exported of it, on its own clock
  int64_t to_unix_ns = 0;
  int64_t shift_ns = 0;  // from the times of its trace to the merged axis
};

/// What a stretch of time leaves of [start, end), on the merged axis.
struct Visible {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

std::optional<Visible> visible(const Placed& placed, int64_t base_unix_ns, int64_t start_ns, int64_t end_ns) {
  const int64_t start_unix_ns = saturating_add(base_unix_ns, start_ns);
  const int64_t end_unix_ns = saturating_add(base_unix_ns, end_ns);
  const bool outside = placed.from_unix_ns >= placed.to_unix_ns || start_unix_ns >= placed.to_unix_ns ||
                       end_unix_ns < placed.from_unix_ns ||
                       (end_unix_ns == placed.from_unix_ns && end_unix_ns != start_unix_ns);
  if (outside) return std::nullopt;
  return Visible{saturating_subtract(std::max(start_unix_ns, placed.from_unix_ns), placed.shift_ns),
                 saturating_subtract(std::min(end_unix_ns, placed.to_unix_ns), placed.shift_ns)};
}

int64_t ms_to_ns(double ms) {
  constexpr double kLongest = 9e18;
  return static_cast<int64_t>(std::clamp(std::round(ms * 1e6), -kLongest, kLongest));
}

/// The range asked for, on a clock that is `offset_ns` behind the reference's, within the rank's own window.
void clip_to_range(Placed& placed, const Placed& reference, const PerfettoOptions& options) {
  const int64_t origin_unix_ns = placed.aligned
                                     ? saturating_subtract(reference.rank->window_start_unix_ns, placed.offset_ns)
                                     : placed.rank->window_start_unix_ns;
  placed.from_unix_ns = placed.rank->window_start_unix_ns;
  placed.to_unix_ns = placed.rank->window_end_unix_ns;
  if (options.from_ms) {
    placed.from_unix_ns = std::max(placed.from_unix_ns, saturating_add(origin_unix_ns, ms_to_ns(*options.from_ms)));
  }
  if (options.to_ms) {
    placed.to_unix_ns = std::min(placed.to_unix_ns, saturating_add(origin_unix_ns, ms_to_ns(*options.to_ms)));
  }
}

/// A clock against the reference's.
struct ClockPlace {
  int32_t rank = -1;  // whose collectives told
  ClockAlignment alignment{};

  [[nodiscard]] int64_t error_ns() const {
    return alignment.by == AlignedBy::kNothing ? INT64_MAX : alignment.spread_ns;
  }
};

/// Ranks without a name for their clock have one of their own.
std::string clock_of(const ExportRank& rank) {
  return rank.clock.empty() ? fmt::format("rank {}", rank.rank) : "of " + rank.clock;
}

/// All clocks but the reference's; of several ranks on one clock the one counts that tells most exactly.
std::map<std::string, ClockPlace> place_clocks(const std::vector<Placed>& ranks) {
  const ExportRank& reference = *ranks.front().rank;
  std::map<std::string, ClockPlace> clocks;
  std::optional<std::vector<CollectiveEnd>> reference_ends;
  for (const Placed& placed : ranks) {
    const ExportRank& rank = *placed.rank;
    if (clock_of(rank) == clock_of(reference)) continue;
    if (!reference_ends) reference_ends = collective_ends(*reference.trace);
    ClockPlace found{.rank = rank.rank, .alignment = align_clocks(*reference_ends, collective_ends(*rank.trace))};
    ClockPlace& best = clocks[clock_of(rank)];
    if (best.rank < 0 || found.error_ns() < best.error_ns()) best = std::move(found);
  }
  return clocks;
}

void align(Placed& placed, const ClockPlace& clock, PerfettoSummary& summary) {
  const int32_t rank = placed.rank->rank;
  placed.aligned = clock.alignment.by != AlignedBy::kNothing;
  placed.offset_ns = clock.alignment.offset_ns;
  if (!placed.aligned) {
    summary.warnings.push_back(fmt::format("clock of rank {} not aligned: {}", rank, clock.alignment.why));
    return;
  }
  const std::string told_by = clock.rank == rank ? "" : fmt::format("by rank {} on the same clock, ", clock.rank);
  summary.notes.push_back(fmt::format("clock of rank {} moved by {:.3f} ms (± {:.3f} ms): {}{}", rank,
                                      static_cast<double>(placed.offset_ns) / 1e6,
                                      static_cast<double>(clock.error_ns()) / 1e6, told_by, clock.alignment.why));
}

std::vector<Placed> place(std::span<const ExportRank> ranks, const PerfettoOptions& options, PerfettoSummary& summary) {
  std::vector<Placed> result;
  for (const ExportRank& rank : ranks) result.push_back({.rank = &rank, .pid = int64_t{rank.rank} + 1});
  std::ranges::stable_sort(result, {}, [](const Placed& placed) { return placed.rank->rank; });
  const Placed reference = result.front();
  const std::map<std::string, ClockPlace> clocks = place_clocks(result);
  for (Placed& placed : result) {
    const auto clock = clocks.find(clock_of(*placed.rank));
    if (clock != clocks.end()) align(placed, clock->second, summary);
    clip_to_range(placed, reference, options);
    if (placed.from_unix_ns >= placed.to_unix_ns) {
      summary.notes.push_back(fmt::format("rank {} has nothing in this range", placed.rank->rank));
    }
  }
  return result;
}

/// Where the merged axis begins: at the first moment that any rank shows. Also settles the ranks' shifts.
int64_t settle_axis(std::vector<Placed>& placed) {
  int64_t base_unix_ns = INT64_MAX;
  for (const Placed& rank : placed) {
    if (rank.from_unix_ns < rank.to_unix_ns) {
      base_unix_ns = std::min(base_unix_ns, saturating_add(rank.from_unix_ns, rank.offset_ns));
    }
  }
  for (Placed& rank : placed) rank.shift_ns = saturating_subtract(base_unix_ns, rank.offset_ns);
  return base_unix_ns;
}

bool is_launch(const Event& event) {
  return (event.category == Category::kRuntime || event.category == Category::kDriver) && event.id != Event::kNoId;
}

bool is_launched(const Event& event) {
  const bool work =
      event.category == Category::kKernel || event.category == Category::kMemcpy || event.category == Category::kMemset;
  return work && event.id != Event::kNoId;
}

/// The correlations whose launch and device work are both shown; each launch takes its own once.
class Arrows {
 public:
  explicit Arrows(const Placed& placed) {
    const Trace& trace = *placed.rank->trace;
    std::vector<uint32_t> launched;
    for (const Track& track : trace.tracks) {
      for (const Event& event : track.events) {
        const bool wanted = track.device ? is_launched(event) : is_launch(event);
        if (wanted && visible(placed, trace.base_unix_ns, event.start_ns, event.end_ns())) {
          (track.device ? launched : ids_).push_back(event.id);
        }
      }
    }
    std::ranges::sort(launched);
    std::ranges::sort(ids_);
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    std::erase_if(ids_, [&](uint32_t id) { return !std::ranges::binary_search(launched, id); });
    begun_.resize(ids_.size());
  }
  /// Whether an arrow begins at this launch: at the first that is shown.
  bool begins(uint32_t id) {
    const auto found = std::ranges::lower_bound(ids_, id);
    if (found == ids_.end() || *found != id) return false;
    const auto index = static_cast<size_t>(found - ids_.begin());
    if (begun_[index]) return false;
    begun_[index] = true;
    return true;
  }
  [[nodiscard]] bool ends(uint32_t id) const { return std::ranges::binary_search(ids_, id); }

 private:
  std::vector<uint32_t> ids_;  // sorted
  std::vector<bool> begun_;
};

class RankWriter {
 public:
  RankWriter(TraceJsonWriter& out, const Placed& placed)
      : out_(out), placed_(placed), trace_(*placed.rank->trace), collectives_(trace_), arrows_(placed) {}

  void write() {
    const ExportRank& rank = *placed_.rank;
    const std::string name = fmt::format("rank {}", rank.rank);
    out_.metadata("process_name", placed_.pid, 0, rank.label.empty() ? name : fmt::format("{} ({})", name, rank.label));
    out_.sort_index("process_sort_index", placed_.pid, 0, placed_.pid);
    for (size_t track = 0; track < trace_.tracks.size() && out_.status().ok(); ++track) write_track(track, name);
  }

 private:
  void write_track(size_t index, const std::string& rank_name) {
    const Track& track = trace_.tracks[index];
    const auto first_tid = static_cast<int64_t>(index * Lanes::kMost) + 1;
    Lanes lanes;
    for (const Event& event : track.events) {
      const std::optional<Visible> shown = visible(placed_, trace_.base_unix_ns, event.start_ns, event.end_ns());
      if (!shown) continue;
      const Lanes::Place place = lanes.place(shown->start_ns, shown->end_ns);
      write_event(track, event, {shown->start_ns, place.end_ns}, first_tid + static_cast<int64_t>(place.lane));
      if (!out_.status().ok()) return;
    }
    for (size_t lane = 0; lane < lanes.count(); ++lane) {
      const int64_t tid = first_tid + static_cast<int64_t>(lane);
      std::string name = fmt::format("{} · {}", rank_name, track_name(track));
      if (lane > 0) name += fmt::format(" · {}", lane + 1);
      out_.metadata("thread_name", placed_.pid, tid, name);
      out_.sort_index("thread_sort_index", placed_.pid, tid, tid);
    }
  }

  /// Kineto's own names hold the id already: "thread 6021 (pt_gloo_runloop)", "stream 7".
  static std::string track_name(const Track& track) {
    const std::string id = track.device && track.stream >= 0 ? fmt::format("stream {}", track.stream) : track.tid;
    if (track.device) return fmt::format("device {} {}", track.pid, id);
    if (track.thread_name.empty()) return fmt::format("thread {}", id);
    const bool told = track.thread_name.find(id) != std::string::npos;
    return told ? track.thread_name : fmt::format("thread {} ({})", id, track.thread_name);
  }

  void write_event(const Track& track, const Event& event, const Visible& shown, int64_t tid) {
    out_.begin_event('X', placed_.pid, tid);
    out_.text("cat", category_name(event.category));
    out_.text("name", trace_.names.text(event.name));
    out_.micros("ts", shown.start_ns);
    out_.micros("dur", shown.end_ns - shown.start_ns);
    out_.begin_args();
    write_args(track, event);
    out_.end_args();
    out_.end_event();
    if (!track.device && is_launch(event) && arrows_.begins(event.id)) write_arrow('s', event.id, shown.start_ns, tid);
    if (track.device && is_launched(event) && arrows_.ends(event.id)) write_arrow('f', event.id, shown.start_ns, tid);
  }

  void write_args(const Track& track, const Event& event) {
    if (collectives_.runs(track, event)) {
      const CollectiveFacts facts = collectives_.facts(track, event);
      out_.text("collective", facts.kind);
      if (!facts.group.empty()) out_.text("group", facts.group);
      if (facts.sequence >= 0) out_.number("seq", facts.sequence);
      if (facts.bytes >= 0) out_.number("bytes", facts.bytes);
      if (facts.peer >= 0) out_.number("peer", facts.peer);
    }
    switch (event.category) {
      case Category::kOperator:
      case Category::kAnnotation:
        write_text("input dims", trace_.op_args[event.detail].input_dims);
        write_text("input types", trace_.op_args[event.detail].input_types);
        break;
      case Category::kKernel:
        write_text("grid", trace_.launches[event.detail].grid);
        write_text("block", trace_.launches[event.detail].block);
        break;
      case Category::kMemcpy:
      case Category::kMemset:
        if (event.detail != 0) {
          out_.number("bytes", static_cast<int64_t>(std::min<uint64_t>(trace_.bytes[event.detail], INT64_MAX)));
        }
        break;
      default:
        break;
    }
    if (is_launch(event) || is_launched(event)) out_.number("correlation", event.id);
  }

  void write_text(std::string_view key, uint32_t name) {
    if (name != StringTable::kEmpty) out_.text(key, trace_.names.text(name));
  }

  void write_arrow(char phase, uint32_t correlation, int64_t time_ns, int64_t tid) {
    out_.begin_event(phase, placed_.pid, tid);
    out_.text("cat", "launch");
    out_.text("name", "launch");
    // One number space for all ranks: correlations repeat from rank to rank.
    out_.number("id", (placed_.pid << 32) + correlation);
    out_.micros("ts", time_ns);
    if (phase == 'f') out_.text("bp", "e");
    out_.end_event();
  }

  TraceJsonWriter& out_;
  const Placed& placed_;
  const Trace& trace_;
  CollectiveReader collectives_;
  Arrows arrows_;
};

/// Counters of one rank's trace, or of the job.
void write_counters(TraceJsonWriter& out, const SampleSet& samples, const Placed& placed, const SampleSeries& series,
                    int64_t pid) {
  const std::string name = fmt::format("{} {}", series.entity, series.metric);
  const std::string_view unit = series.unit.empty() ? std::string_view("value") : std::string_view(series.unit);
  for (const Sample& sample : series.samples) {
    const std::optional<Visible> shown = visible(placed, samples.base_unix_ns, sample.time_ns, sample.time_ns);
    if (!shown || !std::isfinite(sample.value)) continue;
    out.begin_event('C', pid, 0);
    out.text("name", name);
    out.micros("ts", shown->start_ns);
    out.begin_args();
    out.real(unit, sample.value);
    out.end_args();
    out.end_event();
  }
}

void write_job_samples(TraceJsonWriter& out, const SampleSet& samples, const std::vector<Placed>& placed) {
  const int64_t pid = placed.back().pid + 1;
  out.metadata("process_name", pid, 0, "samples");
  for (const SampleSeries& series : samples.series) {
    // A host's counters follow the reference's clock: nothing here says which rank's clock is the host's.
    const auto owner = std::ranges::find_if(
        placed, [&](const Placed& rank) { return series.entity == fmt::format("rank {}", rank.rank->rank); });
    write_counters(out, samples, owner == placed.end() ? placed.front() : *owner, series, pid);
  }
}

Status write_all(TraceJsonWriter& out, const std::vector<Placed>& placed, const PerfettoOptions& options,
                 const PerfettoSummary& summary) {
  for (const Placed& rank : placed) {
    RankWriter(out, rank).write();
    const SampleSet& samples = rank.rank->trace->samples;
    for (const SampleSeries& series : samples.series) write_counters(out, samples, rank, series, rank.pid);
    if (!out.status().ok()) return out.status();
  }
  if (options.samples != nullptr) write_job_samples(out, *options.samples, placed);
  out.begin_other_data();
  size_t number = 0;
  for (const std::string& note : summary.notes) out.text(fmt::format("note {}", ++number), note);
  for (const std::string& warning : summary.warnings) out.text(fmt::format("note {}", ++number), warning);
  return out.finish();
}

}  // namespace

Result<PerfettoSummary> export_perfetto(std::span<const ExportRank> ranks, const PerfettoOptions& options,
                                        const ByteSink& sink) {
  if (ranks.empty()) return Error{Error::Kind::kInvalid, "there is no rank to export"};
  PerfettoSummary summary;
  std::vector<Placed> placed = place(ranks, options, summary);
  const int64_t base_unix_ns = settle_axis(placed);
  if (base_unix_ns == INT64_MAX) {
    return Error{Error::Kind::kInvalid, "no rank has anything in this time range: it must lie inside the window"};
  }
  std::optional<GzipSink> gzip;
  if (options.gzip) gzip.emplace(sink);
  TraceJsonWriter out(gzip ? ByteSink([&](std::string_view bytes) { return gzip->write(bytes); }) : sink, base_unix_ns);
  if (Status status = write_all(out, placed, options, summary); !status.ok()) return status.error();
  if (gzip) {
    if (Status status = gzip->finish(); !status.ok()) return status.error();
  }
  summary.events = out.events();
  return summary;
}

}  // namespace eroica
