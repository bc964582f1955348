#include "pattern/segments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eroica {
namespace {

constexpr int64_t kGrid = 64;

std::vector<Segment> any_segments(bool disjoint) {
  std::vector<Segment> segments;
  const auto raw = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 60), rc::gen::inRange(1, 9)));
  for (size_t i = 0; i < raw.size() && i < 20; ++i) {
    segments.push_back({raw[i].first, raw[i].first + raw[i].second, static_cast<uint32_t>(i)});
  }
  std::vector<uint64_t> ranks(20);
  for (size_t i = 0; i < ranks.size(); ++i) {
    ranks[i] = i;
  }
  sort_segments(segments, ranks);
  if (disjoint) {
    make_exclusive(segments);
  }
  return segments;
}

// Who owns each unit of time: the first segment of the list that covers it; −1 = nobody.
std::vector<int> owners(const std::vector<Segment>& segments) {
  std::vector<int> owner(kGrid + 8, -1);
  for (const Segment& segment : segments) {
    for (int64_t t = segment.start_ns; t < segment.end_ns; ++t) {
      int& o = owner[static_cast<size_t>(t)];
      o = o < 0 ? static_cast<int>(segment.slot) : o;
    }
  }
  return owner;
}

RC_GTEST_PROP(Segments, ExclusiveGivesEachInstantToTheSegmentThatStartedFirst, ()) {
  std::vector<Segment> segments = any_segments(false);
  const std::vector<int> expected = owners(segments);
  make_exclusive(segments);
  RC_ASSERT(owners(segments) == expected);
  for (size_t i = 1; i < segments.size(); ++i) {
    RC_ASSERT(segments[i - 1].end_ns <= segments[i].start_ns);
  }
}

RC_GTEST_PROP(Segments, SubtractAndUniteAgreeWithAGrid, ()) {
  const std::vector<Segment> a = any_segments(true);
  const std::vector<Segment> b = any_segments(true);
  const std::vector<int> in_a = owners(a);
  const std::vector<int> in_b = owners(b);
  const std::vector<int> in_difference = owners(subtract(a, b));
  const std::vector<int> in_union = owners(unite(a, b));
  for (size_t t = 0; t < in_a.size(); ++t) {
    RC_ASSERT(in_difference[t] == (in_b[t] >= 0 ? -1 : in_a[t]));
    RC_ASSERT((in_union[t] >= 0) == (in_a[t] >= 0 || in_b[t] >= 0));
  }
}

RC_GTEST_PROP(Segments, CursorSplitsQueriesIntoInsideAndOutside, ()) {
  const std::vector<Segment> cover = any_segments(true);
  const std::vector<int> owner = owners(cover);
  const std::vector<Segment> queries = any_segments(false);
  SegmentCursor cursor(cover);
  for (const Segment& query : queries) {
    int64_t at = query.start_ns;
    cursor.split(
        query.start_ns, query.end_ns,
        [&](int64_t from, int64_t to) {
          RC_ASSERT(from == at);
          for (int64_t t = from; t < to; ++t) {
            RC_ASSERT(owner[static_cast<size_t>(t)] == -1);
          }
          at = to;
        },
        [&](int64_t from, int64_t to, uint32_t slot) {
          RC_ASSERT(from == at);
          for (int64_t t = from; t < to; ++t) {
            RC_ASSERT(owner[static_cast<size_t>(t)] == static_cast<int>(slot));
          }
          at = to;
        });
    RC_ASSERT(at == query.end_ns);
  }
}

}  // namespace
}  // namespace eroica
