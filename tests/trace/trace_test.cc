#include "trace/trace.h"

#include <gtest/gtest.h>

#include <set>

#include "trace_text.h"

namespace eroica {
namespace {

TEST(Trace, EveryCategoryAndDefectHasItsOwnName) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kCategoryCount; ++i) names.insert(category_name(static_cast<Category>(i)));
  EXPECT_EQ(names.size(), kCategoryCount);
  names.clear();
  for (size_t i = 0; i < kDefectCount; ++i) names.insert(defect_name(static_cast<Defect>(i)));
  EXPECT_EQ(names.size(), kDefectCount);
  EXPECT_EQ(defect_name(Defect::kTruncated), "truncated");
  EXPECT_EQ(defect_name(Defect::kBadEvent), "bad_event");
}

TEST(Defects, Add) {
  Defects defects;
  EXPECT_FALSE(defects.any());
  defects.add(Defect::kBadEvent, 2);
  Defects more;
  more.add(Defect::kBadEvent);
  more.add(Defect::kTruncated);
  defects.merge(more);
  EXPECT_TRUE(defects.any());
  EXPECT_EQ(defects.of(Defect::kBadEvent), 3U);
  EXPECT_EQ(defects.of(Defect::kTruncated), 1U);
}

Event event(Trace& trace, const char* name, int64_t start_ns, int64_t duration_ns) {
  Event event{};
  event.name = trace.names.intern(name);
  event.start_ns = start_ns;
  event.duration_ns = duration_ns;
  return event;
}

TEST(Trace, SortsByStartThenLongestFirstAndTracksByNumber) {
  Trace trace;
  trace.tracks.resize(4);
  trace.tracks[0].pid = "10";
  trace.tracks[1].pid = "9";
  trace.tracks[2].pid = "Spans";
  trace.tracks[3].pid = "1";
  trace.tracks[3].device = true;
  auto& events = trace.tracks[0].events;
  events.push_back(event(trace, "c", 5, 1));
  events.push_back(event(trace, "b", 1, 2));
  events.push_back(event(trace, "a", 1, 9));
  trace.sort();
  std::string order;
  for (const Track& track : trace.tracks) order += track.pid + " ";
  EXPECT_EQ(order, "9 10 Spans 1 ");
  EXPECT_EQ(testkit::events_text(trace), "a 1+9\nb 1+2\nc 5+1\n");
  const std::string once = testkit::trace_text(trace);
  trace.sort();
  EXPECT_EQ(testkit::trace_text(trace), once);
}

}  // namespace
}  // namespace eroica
