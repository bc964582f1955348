#include "pattern/critical_path.h"

#include <algorithm>
#include <span>

namespace eroica {
namespace {

// A thread of a dataloader that pins or stages batches; its loop is among the outermost frames.
bool stages_input(const Trace& trace, const Track& track) {
  constexpr size_t kOutermost = 64;
  const std::span<const Event> first = track.events.span().first(std::min(kOutermost, track.events.size()));
  return std::any_of(first.begin(), first.end(), [&](const Event& event) {
    return event.category == Category::kPython &&
           trace.names.text(event.name).find("pin_memory.py") != std::string_view::npos;
  });
}

// Other host threads that do the job's work: those that launch device work or run operators (autograd's thread).
bool does_training_work(const Trace& trace, const Track& track, bool gpu_job) {
  return !stages_input(trace, track) && std::any_of(track.events.begin(), track.events.end(), [&](const Event& event) {
    return event.category == Category::kRuntime || event.category == Category::kDriver ||
           (!gpu_job && event.category == Category::kOperator);
  });
}

bool is_work(Leaf leaf) { return leaf == Leaf::kOperator || leaf == Leaf::kRuntime || leaf == Leaf::kSync; }

TimeClass class_of_work(Leaf leaf, bool gpu_job) {
  return leaf == Leaf::kSync ? TimeClass::kSync : gpu_job ? TimeClass::kLaunch : TimeClass::kCompute;
}

}  // namespace

void book_critical_path(const Trace& trace, const WindowClip& window, const Marks& marks,
                        const std::vector<Segment>& fetches, DeviceWork& work, HostWalk& walk, FunctionSlots& slots,
                        Attribution& attribution) {
  const bool gpu_job = work.seen;
  const std::vector<uint64_t> slot_hashes = slots.hashes();
  std::sort(work.runs.begin(), work.runs.end(), [&](const CollectiveRun& a, const CollectiveRun& b) {
    if (a.start_ns != b.start_ns) {
      return a.start_ns < b.start_ns;
    }
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : slot_hashes[a.slot] < slot_hashes[b.slot];
  });
  std::vector<Segment> device_collectives;
  std::vector<Segment> host_collectives;
  for (uint32_t i = 0; i < work.runs.size(); ++i) {
    const CollectiveRun& run = work.runs[i];
    slots.add_to_union(run.slot, run.start_ns, run.end_ns);
    (trace.tracks[run.track].device ? device_collectives : host_collectives).push_back({run.start_ns, run.end_ns, i});
  }
  const auto prepare = [&](std::vector<Segment>& segments) {
    sort_segments(segments, slot_hashes);
    for (const Segment& segment : segments) {
      slots.add_to_union(segment.slot, segment.start_ns, segment.end_ns);
    }
    make_exclusive(segments);
  };
  prepare(work.compute);
  prepare(work.memory);
  make_exclusive(device_collectives);
  make_exclusive(host_collectives);

  const auto book_run = [&](int64_t from, int64_t to, uint32_t run) {
    work.runs[run].exposed_ns += to - from;
    attribution.add(from, to, TimeClass::kCommunication, work.runs[run].slot);
  };
  for (const Segment& segment : work.compute) {
    attribution.add(segment.start_ns, segment.end_ns, TimeClass::kCompute, segment.slot);
  }
  std::vector<Segment> cover = std::move(work.compute);
  for (const Segment& segment : subtract(work.memory, cover)) {
    attribution.add(segment.start_ns, segment.end_ns, TimeClass::kMemory, segment.slot);
  }
  cover = unite(cover, work.memory);
  for (const Segment& segment : subtract(device_collectives, cover)) {
    book_run(segment.start_ns, segment.end_ns, segment.slot);
  }
  cover = unite(cover, device_collectives);

  std::vector<bool> has_host_collective(trace.tracks.size());
  for (const CollectiveRun& run : work.runs) {
    has_host_collective[run.track] = !trace.tracks[run.track].device;
  }
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const Track& track = trace.tracks[t];
    const bool is_main = marks.has_main_track && t == marks.main_track;
    if (track.device || is_main || has_host_collective[t] || track.events.empty()) {
      continue;
    }
    const bool books = does_training_work(trace, track, gpu_job);
    std::vector<Segment> worked;
    SegmentCursor cursor(cover);
    walk.run(track, [&](int64_t from, int64_t to, Leaf leaf, uint32_t slot) {
      if (!books || !is_work(leaf)) {
        return;
      }
      cursor.split(
          from, to,
          [&](int64_t a, int64_t b) {
            attribution.add(a, b, class_of_work(leaf, gpu_job), slot);
            if (!worked.empty() && worked.back().end_ns == a) {
              worked.back().end_ns = b;
            } else {
              worked.push_back({a, b, kNoSlot});
            }
          },
          [](int64_t, int64_t, uint32_t) {});
    });
    cover = unite(cover, worked);
  }

  SegmentCursor covered(cover);
  SegmentCursor communicating(host_collectives);
  SegmentCursor fetching(fetches);
  const auto book_leaf = [&](int64_t from, int64_t to, Leaf leaf, uint32_t slot) {
    const TimeClass otherwise = leaf == Leaf::kNone   ? TimeClass::kIdle
                                : leaf == Leaf::kComm ? TimeClass::kLaunch
                                                      : TimeClass::kPython;
    const auto book_rest = [&](int64_t a, int64_t b, TimeClass time_class) {
      const auto inside = [&](int64_t c, int64_t d, uint32_t) { attribution.add(c, d, TimeClass::kDataloader, slot); };
      fetching.split(
          a, b, [&](int64_t c, int64_t d) { attribution.add(c, d, time_class, slot); }, inside);
    };
    const auto uncovered = [&](int64_t a, int64_t b) {
      if (is_work(leaf)) {
        book_rest(a, b, class_of_work(leaf, gpu_job));
      } else {
        communicating.split(
            a, b, [&](int64_t c, int64_t d) { book_rest(c, d, otherwise); }, book_run);
      }
    };
    covered.split(from, to, uncovered, [](int64_t, int64_t, uint32_t) {});
  };
  if (marks.has_main_track) {
    walk.run(trace.tracks[marks.main_track], book_leaf);
  } else {
    book_leaf(0, window.end_ns - window.start_ns, Leaf::kNone, kNoSlot);
  }
}

}  // namespace eroica
