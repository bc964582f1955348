#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace eroica {

/// A stretch of time in which a function ran. Times are ns since the window's start.
struct Segment {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t slot;  ///< index of the function in its FunctionSlots
};

/// Sorts by start, then longest first, then by `slot_rank` (an order of slots that is the same on every rank and run).
void sort_segments(std::vector<Segment>& segments, const std::vector<uint64_t>& slot_rank);

/// Makes overlapping sorted segments disjoint, in place: an instant belongs to the segment that started first.
void make_exclusive(std::vector<Segment>& segments);

/// The parts of sorted disjoint `segments` that lie outside sorted disjoint `cover`.
std::vector<Segment> subtract(const std::vector<Segment>& segments, const std::vector<Segment>& cover);

/// The union of two sorted disjoint lists; neighbours that touch are joined and slots lose their meaning.
std::vector<Segment> unite(std::span<const Segment> a, std::span<const Segment> b);

/// Walks sorted disjoint segments in step with queries whose starts do not decrease.
class SegmentCursor {
 public:
  explicit SegmentCursor(std::span<const Segment> segments) : segments_(segments) {}

  /// Splits [start, end): calls outside(from, to) for what no segment covers and inside(from, to, slot) for the rest,
  /// in order of time.
  template <typename Outside, typename Inside>
  void split(int64_t start_ns, int64_t end_ns, Outside outside, Inside inside) {
    while (next_ < segments_.size() && segments_[next_].end_ns <= start_ns) {
      ++next_;
    }
    int64_t at = start_ns;
    for (size_t i = next_; at < end_ns; ++i) {
      if (i == segments_.size() || segments_[i].start_ns >= end_ns) {
        outside(at, end_ns);
        return;
      }
      const Segment& segment = segments_[i];
      if (segment.start_ns > at) {
        outside(at, segment.start_ns);
        at = segment.start_ns;
      }
      const int64_t until = segment.end_ns < end_ns ? segment.end_ns : end_ns;
      if (until > at) {
        inside(at, until, segment.slot);
        at = until;
      }
    }
  }

 private:
  std::span<const Segment> segments_;
  size_t next_ = 0;
};

}  // namespace eroica
