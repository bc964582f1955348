#include "agent/window_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kGb = 1'000'000'000;
constexpr int64_t kDayNs = 86'400'000'000'000;
constexpr int64_t kNow = 1'790'000'000'000'000'000;
constexpr uint64_t kRoom = 1000 * kGb;

std::vector<KeptWindow> three() {
  return {{"b", 2 * kGb, kNow - 2 * kDayNs}, {"a", 2 * kGb, kNow - 3 * kDayNs}, {"c", 2 * kGb, kNow - kDayNs}};
}

TEST(WindowRing, NamesAreInTheOrderOfTime) {
  const std::string name = kept_name("window-3", kNow);
  EXPECT_EQ(name, "20260921T141320Z-window-3");
  EXPECT_TRUE(is_kept_name(name));
  EXPECT_LT(name, kept_name("window-1", kNow + 1'000'000'000));
  for (const char* other : {"", "window-3", "20260921T141320Z-window-", "20260921T133320Z-window-3x", "records.steps",
                            "20260921T141320Z-window-3/..", "2026092xT133320Z-window-3"}) {
    EXPECT_FALSE(is_kept_name(other)) << other;
  }
}

TEST(WindowRing, TheOldestGoFirst) {
  EXPECT_THAT(windows_to_remove(three(), 2 * kGb, kRoom, {}, kNow), IsEmpty());
  EXPECT_THAT(windows_to_remove(three(), 2 * kGb, kRoom, {.most_gb = 6}, kNow), ElementsAre("a"));
  EXPECT_THAT(windows_to_remove(three(), 2 * kGb, kRoom, {.most_gb = 5}, kNow), ElementsAre("a", "b"));
  EXPECT_THAT(windows_to_remove(three(), 2 * kGb, kRoom, {.most_windows = 3}, kNow), ElementsAre("a"));
  EXPECT_THAT(windows_to_remove(three(), 0, kRoom, {.most_windows = 3}, kNow), IsEmpty());
  EXPECT_THAT(windows_to_remove(three(), 0, kRoom, {.most_days = 1.5}, kNow), ElementsAre("a", "b"));
}

TEST(WindowRing, AFullDiskCostsTheOldest) {
  EXPECT_THAT(windows_to_remove(three(), kGb, 5 * kGb, {.leave_free_gb = 5}, kNow), ElementsAre("a"));
  EXPECT_THAT(windows_to_remove(three(), kGb, 6 * kGb, {.leave_free_gb = 5}, kNow), IsEmpty());
}

RC_GTEST_PROP(WindowRing, WhatIsLeftIsWithinThePolicy, ()) {
  std::vector<KeptWindow> kept;
  const auto count = *rc::gen::inRange<size_t>(0, 20);
  for (size_t i = 0; i < count; ++i) {
    kept.push_back({std::to_string(i), *rc::gen::inRange<uint64_t>(0, 3 * kGb),
                    kNow - *rc::gen::inRange<int64_t>(0, 10 * kDayNs)});
  }
  const KeepPolicy policy{static_cast<double>(*rc::gen::inRange(0, 20)), *rc::gen::inRange<uint32_t>(0, 20),
                          static_cast<double>(*rc::gen::inRange(0, 10)), 0};
  const std::vector<std::string> removed = windows_to_remove(kept, 0, kRoom, policy, kNow);
  double bytes = 0;
  uint32_t left = 0;
  int64_t oldest_left = kNow;
  int64_t newest_removed = 0;
  for (const KeptWindow& window : kept) {
    if (std::ranges::find(removed, window.name) != removed.end()) {
      newest_removed = std::max(newest_removed, window.unix_ns);
      continue;
    }
    bytes += static_cast<double>(window.bytes);
    ++left;
    oldest_left = std::min(oldest_left, window.unix_ns);
  }
  RC_ASSERT(bytes <= policy.most_gb * 1e9);
  RC_ASSERT(left <= policy.most_windows);
  RC_ASSERT(static_cast<double>(kNow - oldest_left) <= policy.most_days * static_cast<double>(kDayNs));
  RC_ASSERT(newest_removed <= oldest_left || left == 0);
}

}  // namespace
}  // namespace eroica::testing
