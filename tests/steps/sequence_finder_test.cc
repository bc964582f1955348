#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "steps/script.h"
#include "steps/step_finder.h"

namespace eroica {
namespace {

using testing::repeated;
using testing::script;
using testing::Script;
using testing::text_of;

/// What a live stream gives: the steps in order, and with which mark the first came.
struct Live {
  std::vector<Step> steps;
  size_t locked_at = 0;  ///< marks that were needed; 0 = never
};

Live live(const Script& made, SequenceFinder& finder) {
  Live result;
  for (size_t i = 0; i < made.marks.size(); ++i) {
    for (const Step& step : finder.push(made.marks[i])) result.steps.push_back(step);
    if (finder.locked() && result.locked_at == 0) result.locked_at = i + 1;
  }
  for (const Step& step : finder.finish(made.end_ns)) result.steps.push_back(step);
  return result;
}

std::string live_text(std::string_view text, SequenceOptions options = {.min_repeats = 10}) {
  const Script made = script(text);
  SequenceFinder finder(options);
  return text_of(live(made, finder).steps, made);
}

TEST(SequenceFinder, LocksAfterTenLikeStepsAndTellsThemThen) {
  const Script made = script(repeated("fA", 14));
  SequenceFinder finder({.min_repeats = 10});
  std::vector<Step> steps;
  for (size_t i = 0; i < made.marks.size(); ++i) {
    const std::vector<Step> done = finder.push(made.marks[i]);
    // The first step's beginning was not seen: the eleventh optimizer step is the tenth like repetition.
    EXPECT_EQ(finder.locked(), i >= 21) << i;
    const bool ends_step = i % 2 == 1;
    EXPECT_EQ(done.size(), i < 21 ? 0U : i == 21 ? 11U : ends_step ? 1U : 0U) << i;
    steps.insert(steps.end(), done.begin(), done.end());
  }
  EXPECT_EQ(text_of(steps, made), "fA-" + repeated(" fA", 13));
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i].number, static_cast<int64_t>(i));
}

TEST(SequenceFinder, WaitsForTheGenerator) {
  const Script made = script(repeated("fDfDfDfDfDG", 14));
  SequenceFinder finder({.min_repeats = 10});
  const Live result = live(made, finder);
  EXPECT_EQ(result.locked_at, 11U * 11);
  EXPECT_EQ(text_of(result.steps, made), "fDfDfDfDfDG-" + repeated(" fDfDfDfDfDG", 13));
}

TEST(SequenceFinder, TurnsToARarerOptimizerThatComesLater) {
  const std::string text = live_text(repeated("fD", 100) + repeated("fDfDG", 40));
  EXPECT_EQ(text.substr(0, 9), "fD- fD fD");
  EXPECT_EQ(text.substr(text.size() - 11), "fDfDG fDfDG");
  EXPECT_EQ(text.find("D- G"), std::string::npos);
}

TEST(SequenceFinder, ToleratesOddCyclesWhileItLearns) {
  EXPECT_EQ(live_text(repeated("fA", 5) + "vvvv" + repeated("fA", 8)),
            "fA-" + repeated(" fA", 4) + " vvvv~" + repeated(" fA", 8));
}

TEST(SequenceFinder, EvaluationsOfAnyLengthDoNotUnlock) {
  const Script made = script(repeated("fA", 20) + repeated("v", 1000) + repeated("fA", 5));
  SequenceFinder finder({.min_repeats = 10});
  const Live result = live(made, finder);
  EXPECT_EQ(result.steps.size(), 26U);
  EXPECT_TRUE(result.steps[20].irregular);
  EXPECT_EQ(result.steps[20].fetches, 1000U);
  EXPECT_EQ(finder.changes(), 0U);
}

TEST(SequenceFinder, AccumulationOverManyFetches) {
  const Script made = script(repeated(repeated("f", 150) + "A", 15));
  SequenceFinder finder({.min_repeats = 10});
  const Live result = live(made, finder);
  ASSERT_EQ(result.steps.size(), 15U);
  for (const Step& step : result.steps) EXPECT_EQ(step.fetches, 150U);
}

TEST(SequenceFinder, AccumulationOverMoreFetchesThanItWaitsFor) {
  const Script made = script(repeated(repeated("f", 600) + "A", 25));
  SequenceFinder finder({.min_repeats = 10});
  const Live result = live(made, finder);
  ASSERT_GT(result.steps.size(), 12U);
  for (size_t i = result.steps.size() - 12; i < result.steps.size(); ++i) EXPECT_EQ(result.steps[i].fetches, 600U);
}

TEST(SequenceFinder, BeginsAgainWhenThePatternChanges) {
  const Script made = script(repeated("fA", 30) + repeated("gB", 30));
  SequenceFinder finder({.min_repeats = 10});
  const Live result = live(made, finder);
  EXPECT_EQ(finder.changes(), 1U);
  ASSERT_EQ(result.steps.size(), 60U);
  EXPECT_TRUE(result.steps[30].irregular);  // where the one ends and the other begins
  EXPECT_FALSE(result.steps[31].irregular);
}

TEST(SequenceFinder, FetchesAloneAreBelievedLate) {
  const Script made = script(repeated("f", 250));
  SequenceFinder finder({.min_repeats = 10, .give_up_events = 200});
  const Live result = live(made, finder);
  EXPECT_EQ(result.locked_at, 200U);
  EXPECT_EQ(result.steps.size(), 250U);
}

TEST(SequenceFinder, FindsTheOptimizerOfAJobThatBeganWithFetches) {
  const Script made = script(repeated("f", 250) + repeated("fA", 30));
  SequenceFinder finder({.min_repeats = 10, .give_up_events = 200});
  const Live result = live(made, finder);
  ASSERT_TRUE(finder.anchor().has_value() || !result.steps.empty());
  EXPECT_EQ(result.steps.back().optimizer_steps, 1U);
  const std::string text = text_of(result.steps, made);
  EXPECT_EQ(text.substr(text.size() - 8), "fA fA fA");
}

TEST(SequenceFinder, NothingRepeatsGivesNothing) {
  for (const char* text : {"", "f", "A", "fA", "AB", "ffffA"}) EXPECT_EQ(live_text(text), "") << text;
}

TEST(SequenceFinder, AbsurdMarksAreTolerated) {
  SequenceFinder finder({.min_repeats = 2});
  const std::vector<int64_t> times{INT64_MIN, INT64_MAX, 0, -1, INT64_MIN + 1, 5, INT64_MAX - 1};
  std::vector<Step> steps;
  for (int round = 0; round < 50; ++round) {
    for (const int64_t start : times) {
      for (const int64_t end : times) {
        const auto kind = static_cast<MarkKind>((static_cast<uint64_t>(start) ^ static_cast<uint64_t>(end)) % 3);
        for (const Step& step : finder.push({kind, static_cast<uint64_t>(round % 5), start, end})) {
          steps.push_back(step);
        }
      }
    }
  }
  for (const Step& step : finder.finish(INT64_MAX)) steps.push_back(step);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_LT(steps[i].start_ns, steps[i].end_ns);
    EXPECT_TRUE(i == 0 || steps[i].start_ns >= steps[i - 1].end_ns);
  }
}

TEST(SequenceFinder, AnEndlessStreamWithoutPatternStaysCheap) {
  SequenceFinder finder({.min_repeats = 10});
  uint64_t state = 1;
  int64_t now = 0;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const uint64_t name = i % 7 == 0 ? state >> 33 : 1;  // an optimizer of a new name each time
    finder.push({i % 7 == 0 ? MarkKind::kOptimizer : MarkKind::kFetch, name, now, now + 1});
    now += 2;
  }
  EXPECT_FALSE(finder.locked());
}

}  // namespace
}  // namespace eroica
