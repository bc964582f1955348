#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "steps/script.h"
#include "steps/step_finder.h"

namespace eroica {
namespace {

using testing::kMs;
using testing::repeated;
using testing::Script;
using testing::text_of;

/// A made-up job: its marks, and the steps that it really made (as text_of writes them).
struct Job {
  Script script;
  std::string truth;
};

int number(int least, int most) { return *rc::gen::inRange(least, most + 1); }

/// The marks of a text, with every duration off by up to a tenth.
Script jittered(std::string_view text) {
  Script result;
  int64_t now = 0;
  const auto about = [](int64_t ms) { return ms * kMs / 100 * number(90, 110); };
  for (const char token : text) {
    const bool optimizer = token < 'a';
    const int64_t duration = about(optimizer ? 3 : 1);
    result.marks.push_back({.kind = optimizer ? MarkKind::kOptimizer : MarkKind::kFetch,
                            .name_hash = testing::name_of_token(token),
                            .start_ns = now,
                            .end_ns = now + duration});
    result.tokens += token;
    now += duration;
    if (!optimizer) now += about(token == 'f' ? 10 : 3);
  }
  result.end_ns = now;
  return result;
}

/// One regular step: accumulation, then one to three optimizers; or a discriminator that steps several times.
std::string a_cycle() {
  if (number(0, 3) == 0) return repeated("fD", number(2, 5)) + "G";
  return repeated("f", number(1, 5)) + std::string("ABC").substr(0, static_cast<size_t>(number(1, 3)));
}

/// What may stand between steps, or in place of one: an evaluation, or a step whose optimizer was skipped.
std::string an_oddity(const std::string& cycle) {
  const auto fetches = static_cast<int>(std::ranges::count(cycle, 'f'));
  switch (number(0, 2)) {
    case 0:
      return repeated("v", number(1, 12)) + "~ " + cycle;
    case 1:
      return repeated("e", std::max(2, fetches) + number(0, 12)) + "~ " + cycle;
    default:
      // Told from others by its duration: a step must not be optimizers for the most part.
      if (cycle.find_first_of("CD") != std::string::npos) return cycle;
      return repeated("f", fetches) + "~ " + cycle + "~";
  }
}

Job a_job(int least_steps) {
  const std::string cycle = a_cycle();
  std::string truth = cycle.substr(static_cast<size_t>(number(0, static_cast<int>(cycle.size()) - 1))) + "-";
  const int steps = number(least_steps, least_steps + 20);
  int regular = 0;
  for (int i = 0; i < steps; ++i) {
    const bool odd = regular >= 4 && number(0, 3) == 0;
    truth += " " + (odd ? an_oddity(cycle) : cycle);
    regular = odd ? 0 : regular + 1;
  }
  const std::string tail = cycle.substr(0, static_cast<size_t>(number(0, static_cast<int>(cycle.find('f')) + 1)));
  if (!tail.empty()) truth += " " + tail + "-";

  std::string tokens = truth;
  std::erase_if(tokens, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) == 0; });
  return {jittered(tokens), truth};
}

RC_GTEST_PROP(FindStepsProperty, FindsTheStepsThatAJobMade, ()) {
  const Job job = a_job(3);
  const Steps found = find_steps(job.script.marks, false, {.window_end_ns = job.script.end_ns});
  RC_ASSERT(text_of(found.steps, job.script) == job.truth);
}

RC_GTEST_PROP(FindStepsProperty, ALiveStreamFindsTheSame, ()) {
  const Job job = a_job(14);
  SequenceFinder finder({.min_repeats = 5});
  std::vector<Step> steps;
  for (const Mark& mark : job.script.marks) {
    for (const Step& step : finder.push(mark)) steps.push_back(step);
  }
  for (const Step& step : finder.finish(job.script.end_ns)) steps.push_back(step);
  RC_ASSERT(text_of(steps, job.script) == job.truth);
}

std::vector<Mark> any_marks() {
  const auto time =
      rc::gen::weightedOneOf<int64_t>({{30, rc::gen::inRange<int64_t>(0, 2000)}, {1, rc::gen::arbitrary<int64_t>()}});
  const auto mark = rc::gen::construct<Mark>(
      rc::gen::weightedElement<MarkKind>({{1, MarkKind::kStep}, {20, MarkKind::kOptimizer}, {20, MarkKind::kFetch}}),
      rc::gen::inRange<uint64_t>(0, 4), time, time, rc::gen::inRange<int64_t>(-1, 5));
  return *rc::gen::scale(5, rc::gen::container<std::vector<Mark>>(mark));
}

RC_GTEST_PROP(FindStepsProperty, WhateverTheMarksStepsAreInOrderAndInTheWindow, ()) {
  std::vector<Mark> marks = any_marks();
  const int64_t from_ns = number(-100, 1000);
  const int64_t to_ns = from_ns + number(1, 2000);
  const StepOptions options{.window_start_ns = from_ns, .window_end_ns = to_ns};
  const Steps found = find_steps(marks, false, options);

  RC_ASSERT(!found.steps.empty());
  RC_ASSERT(!found.note.empty());
  uint64_t fetches = 0;
  uint64_t optimizer_steps = 0;
  for (size_t i = 0; i < found.steps.size(); ++i) {
    const Step& step = found.steps[i];
    RC_ASSERT(step.start_ns >= from_ns);
    RC_ASSERT(step.end_ns <= to_ns);
    RC_ASSERT(step.start_ns < step.end_ns);
    RC_ASSERT((i == 0 || found.steps[i - 1].end_ns <= step.start_ns));
    fetches += step.fetches;
    optimizer_steps += step.optimizer_steps;
  }
  const auto inside = [&](MarkKind kind) {
    return static_cast<uint64_t>(std::ranges::count_if(
        marks, [&](const Mark& m) { return m.kind == kind && m.start_ns >= from_ns && m.start_ns < to_ns; }));
  };
  RC_ASSERT(fetches <= inside(MarkKind::kFetch));
  RC_ASSERT(optimizer_steps <= inside(MarkKind::kOptimizer));
  if (found.source == StepSource::kSequence || found.source == StepSource::kWindow) {
    RC_ASSERT(found.steps.front().start_ns == from_ns);
    RC_ASSERT(found.steps.back().end_ns == to_ns);
    for (size_t i = 1; i < found.steps.size(); ++i) {
      RC_ASSERT(found.steps[i - 1].end_ns == found.steps[i].start_ns);
    }
    RC_ASSERT(fetches == inside(MarkKind::kFetch));
    RC_ASSERT(optimizer_steps == inside(MarkKind::kOptimizer));
  }

  // Neither the order of the marks nor a shift of all times matters.
  std::ranges::reverse(marks);
  const Steps again = find_steps(marks, false, options);
  RC_ASSERT(again.note == found.note);
  RC_ASSERT(again.steps.size() == found.steps.size());
  for (size_t i = 0; i < again.steps.size(); ++i) RC_ASSERT(again.steps[i].end_ns == found.steps[i].end_ns);
}

}  // namespace
}  // namespace eroica
