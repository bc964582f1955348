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

// Books the work of computing operators on a CPU job, but for those in `apart`.
void book_leaf_work(const HostWalk& walk, std::span<const Segment> apart, Attribution& attribution) {
  size_t next = 0;
  for (const LeafWork& leaf : walk.leaf_work) {
    while (next < apart.size() && apart[next].end_ns <= leaf.start_ns) {
      ++next;
    }
    if (next == apart.size() || leaf.start_ns < apart[next].start_ns) {
      attribution.add_work(leaf.start_ns, leaf.work);
    }
  }
}

// Counts the executions of kernels of which at least half ran while one of these did; both are sorted, the others
// disjoint.
void count_beside(std::span<const Segment> kernels, std::span<const Segment> others, FunctionSlots& slots) {
  // Time of `others` before each of them.
  std::vector<int64_t> before(others.size() + 1);
  for (size_t i = 0; i < others.size(); ++i) {
    before[i + 1] = before[i] + (others[i].end_ns - others[i].start_ns);
  }
  // Time of `others` before an instant; the first one that ends behind it is not before `from`.
  const auto covered_until = [&](int64_t at_ns, size_t& from) {
    size_t step = 1;
    while (from + step <= others.size() && others[from + step - 1].end_ns <= at_ns) {
      from += step;
      step *= 2;
    }
    const auto found =
        std::partition_point(others.begin() + static_cast<std::ptrdiff_t>(from),
                             others.begin() + static_cast<std::ptrdiff_t>(std::min(from + step, others.size())),
                             [&](const Segment& other) { return other.end_ns <= at_ns; });
    from = static_cast<size_t>(found - others.begin());
    const int64_t inside = from < others.size() ? std::max<int64_t>(at_ns - others[from].start_ns, 0) : 0;
    return before[from] + inside;
  };
  size_t first = 0;
  for (const Segment& kernel : kernels) {
    const int64_t until_start = covered_until(kernel.start_ns, first);
    size_t last = first;
    const int64_t beside = covered_until(kernel.end_ns, last) - until_start;
    const int64_t duration = kernel.end_ns - kernel.start_ns;
    if (beside > 0 && beside >= duration - beside) {
      Slot& slot = slots[kernel.slot];
      ++slot.beside_executions;
      slot.beside_ns += duration;
    }
  }
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
  make_exclusive(device_collectives);
  make_exclusive(host_collectives);
  sort_segments(work.compute, slot_hashes);
  sort_segments(work.memory, slot_hashes);
  count_beside(work.compute, device_collectives, slots);
  const auto prepare = [&](std::vector<Segment>& segments) {
    for (const Segment& segment : segments) {
      slots.add_to_union(segment.slot, segment.start_ns, segment.end_ns);
    }
    make_exclusive(segments);
  };
  prepare(work.compute);
  prepare(work.memory);

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
    if (books) {
      book_leaf_work(walk, {}, attribution);
    }
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
    book_leaf_work(walk, fetches, attribution);
  } else {
    book_leaf(0, window.end_ns - window.start_ns, Leaf::kNone, kNoSlot);
  }
}

}  // namespace eroica
