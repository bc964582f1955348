#include "pattern/segments.h"

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>

namespace eroica {

void sort_segments(std::vector<Segment>& segments, const std::vector<uint64_t>& slot_rank) {
  const auto before = [&](const Segment& a, const Segment& b) {
    if (a.start_ns != b.start_ns) {
      return a.start_ns < b.start_ns;
    }
    if (a.end_ns != b.end_ns) {
      return a.end_ns > b.end_ns;
    }
    return slot_rank[a.slot] < slot_rank[b.slot];
  };
  if (!std::is_sorted(segments.begin(), segments.end(), before)) {
    boost::sort::pdqsort(segments.begin(), segments.end(), before);
  }
}

void make_exclusive(std::vector<Segment>& segments) {
  size_t kept = 0;
  int64_t covered_until = INT64_MIN;
  for (Segment segment : segments) {
    segment.start_ns = std::max(segment.start_ns, covered_until);
    if (segment.start_ns < segment.end_ns) {
      covered_until = segment.end_ns;
      segments[kept++] = segment;
    }
  }
  segments.resize(kept);
}

std::vector<Segment> subtract(const std::vector<Segment>& segments, const std::vector<Segment>& cover) {
  std::vector<Segment> left;
  SegmentCursor cursor(cover);
  for (const Segment& segment : segments) {
    cursor.split(
        segment.start_ns, segment.end_ns,
        [&](int64_t from, int64_t to) {
          left.push_back({from, to, segment.slot});
        },
        [](int64_t, int64_t, uint32_t) {});
  }
  return left;
}

std::vector<Segment> unite(std::span<const Segment> a, std::span<const Segment> b) {
  std::vector<Segment> both;
  both.reserve(a.size() + b.size());
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool take_a = j == b.size() || (i < a.size() && a[i].start_ns <= b[j].start_ns);
    const Segment& next = take_a ? a[i++] : b[j++];
    if (!both.empty() && next.start_ns <= both.back().end_ns) {
      both.back().end_ns = std::max(both.back().end_ns, next.end_ns);
    } else {
      both.push_back(next);
    }
  }
  return both;
}

}  // namespace eroica
