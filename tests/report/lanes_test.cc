#include "report/lanes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace eroica {
namespace {

TEST(Lanes, NestedAndConsecutiveEventsShareOne) {
  Lanes lanes;
  EXPECT_EQ(lanes.place(0, 100'000).lane, 0U);
  EXPECT_EQ(lanes.place(0, 50'000).lane, 0U);
  EXPECT_EQ(lanes.place(50'000, 100'000).lane, 0U);
  EXPECT_EQ(lanes.place(100'000, 200'000).lane, 0U);
  EXPECT_EQ(lanes.count(), 1U);
}

TEST(Lanes, WhatOverlapsWithoutNestingGoesApart) {
  Lanes lanes;
  EXPECT_EQ(lanes.place(0, 100'000).lane, 0U);
  EXPECT_EQ(lanes.place(50'000, 150'000).lane, 1U);
  EXPECT_EQ(lanes.place(90'000, 95'000).lane, 0U);
  EXPECT_EQ(lanes.place(100'000, 300'000).lane, 0U);
}

TEST(Lanes, RoundedEndsAreMovedToTheirParents) {
  Lanes lanes;
  lanes.place(0, 100'000);
  const Lanes::Place place = lanes.place(50'000, 101'000);
  EXPECT_EQ(place.lane, 0U);
  EXPECT_EQ(place.end_ns, 100'000);
}

RC_GTEST_PROP(LanesProperty, InEachLaneEventsNest, ()) {
  struct Slice {
    int64_t start_ns;
    int64_t end_ns;
    size_t lane;
  };
  std::vector<Slice> slices;
  const auto times = *rc::gen::container<std::vector<std::tuple<int64_t, int64_t>>>(
      rc::gen::tuple(rc::gen::inRange<int64_t>(0, 100'000), rc::gen::inRange<int64_t>(0, 50'000)));
  for (const auto& [start_ns, duration_ns] : times) slices.push_back({start_ns, start_ns + duration_ns, 0});
  std::ranges::sort(slices, [](const Slice& a, const Slice& b) {
    return std::tuple(a.start_ns, -a.end_ns) < std::tuple(b.start_ns, -b.end_ns);
  });
  Lanes lanes;
  for (Slice& slice : slices) {
    const Lanes::Place place = lanes.place(slice.start_ns, slice.end_ns);
    RC_ASSERT(place.lane < Lanes::kMost);
    RC_ASSERT(place.end_ns <= slice.end_ns);
    slice.lane = place.lane;
    slice.end_ns = place.end_ns;
  }
  for (const Slice& a : slices) {
    for (const Slice& b : slices) {
      const bool crosses = a.start_ns < b.start_ns && b.start_ns < a.end_ns && a.end_ns < b.end_ns;
      RC_ASSERT(a.lane != b.lane || !crosses);
    }
  }
}

}  // namespace
}  // namespace eroica
