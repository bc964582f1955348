#include "steps/window_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

using Reason = WindowBudget::Reason;

constexpr int64_t kSecond = 1'000'000'000;

TEST(WindowLength, IsAboutTenSteps) {
  EXPECT_DOUBLE_EQ(window_length_s(0.1, 0, 10), 3);
  EXPECT_DOUBLE_EQ(window_length_s(0.5, 0, 10), 5);
  EXPECT_DOUBLE_EQ(window_length_s(7, 0, 10), 10);
  EXPECT_DOUBLE_EQ(window_length_s(0, 0, 10), 5);
  EXPECT_DOUBLE_EQ(window_length_s(0.1, 0, 2), 2);
}

TEST(WindowLength, SpansStallsThatLieApart) {
  EXPECT_DOUBLE_EQ(window_length_s(0.1, 0.5, 10), 3);
  EXPECT_DOUBLE_EQ(window_length_s(0.1, 2, 10), 5);
  EXPECT_DOUBLE_EQ(window_length_s(0.1, 6, 10), 10) << "one of them for sure";
  EXPECT_DOUBLE_EQ(window_length_s(0.1, 16, 10), 20) << "longer than usual, for one of them";
  EXPECT_DOUBLE_EQ(window_length_s(0.1, 100, 10), 30);
}

WindowBudget budget(double budget_s_per_hour) {
  WindowPolicy policy;
  policy.length_s = 10;
  policy.cooldown_s = 60;
  policy.budget_s_per_hour = budget_s_per_hour;
  return {policy, {}, true};
}

TEST(WindowBudget, ChargesWhatAWindowIsLong) {
  WindowBudget spent = budget(65);
  EXPECT_EQ(spent.ask(0, 0, Reason::kAlarm, 30).length_s, 30);
  EXPECT_EQ(spent.spent_s(kSecond), 30);
  EXPECT_EQ(spent.ask(100 * kSecond, 0, Reason::kAlarm, 3).length_s, 3);
  EXPECT_EQ(spent.spent_s(100 * kSecond), 33);
  const WindowGrant what_is_left = spent.ask(200 * kSecond, 0, Reason::kAlarm, 40);
  EXPECT_EQ(what_is_left.denied, WindowDenial::kNone);
  EXPECT_EQ(what_is_left.length_s, 32) << "longer than usual, as far as the budget goes";
  EXPECT_EQ(spent.ask(300 * kSecond, 0, Reason::kAlarm, 3).denied, WindowDenial::kBudget);
  EXPECT_EQ(spent.spent_s(3600 * kSecond), 35) << "the first is over an hour ago";
}

TEST(WindowBudget, OneThatIsLongIsStillBeingTakenWhenAnotherIsAskedFor) {
  WindowBudget spent = budget(1000);
  (void)spent.ask(0, 0, Reason::kBaseline, 30);
  EXPECT_EQ(spent.ask(20 * kSecond, 0, Reason::kUrgent, 5).denied, WindowDenial::kCooldown);
  EXPECT_EQ(spent.ask(30 * kSecond, 0, Reason::kUrgent, 5).denied, WindowDenial::kNone);
}

TEST(WindowBudget, IsChargedWithWhatAWindowIsInTheEnd) {
  WindowBudget spent = budget(1000);
  (void)spent.ask(0, 0, Reason::kAlarm, 20);
  spent.correct_last(4);
  EXPECT_EQ(spent.spent_s(kSecond), 4);
  (void)spent.ask(100 * kSecond, 0, Reason::kAlarm, 20);
  spent.correct_last(0);
  EXPECT_EQ(spent.spent_s(100 * kSecond), 4);
  EXPECT_EQ(spent.ask(101 * kSecond, 0, Reason::kAlarm, 20).denied, WindowDenial::kNone) << "none was taken";
}

}  // namespace
}  // namespace eroica::testing
