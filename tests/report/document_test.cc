#include "report/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/sample_patterns.h"

namespace eroica {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

double of(const PerClass& ms, TimeClass time_class) { return ms[static_cast<size_t>(time_class)]; }

Document built(const testing::SampleJob& job, const DocumentOptions& options = {}) {
  Result<Document> document = build_document(job.patterns, job.names, options);
  EXPECT_TRUE(document.ok()) << (document.ok() ? "" : document.error().message);
  return document.ok() ? std::move(document.value()) : Document{};
}

TEST(Document, StepTimesLeaveOutWhatTheWindowCut) {
  const Document document = built(testing::cpu_job());
  const StepsSection& steps = document.profile.steps;
  EXPECT_EQ(steps.source, "sequence");
  EXPECT_EQ(steps.count, 16u);
  EXPECT_EQ(steps.complete, 14u);
  ASSERT_TRUE(steps.times.has_value());
  EXPECT_DOUBLE_EQ(steps.times->median_ms, 75);
  EXPECT_DOUBLE_EQ(steps.times->slowest_ms, 102);
  EXPECT_EQ(steps.times->slowest_rank, 2);
  EXPECT_EQ(steps.times->slowest_step, 9);
  ASSERT_THAT(steps.ranks, SizeIs(4));
  EXPECT_THAT(steps.ranks[0].steps, SizeIs(16));
  EXPECT_FALSE(steps.ranks[0].steps.front().complete);
}

TEST(Document, ClassesOfARankAddUpToItsMeanStep) {
  const Document document = built(testing::cpu_job());
  for (const RankTime& rank : document.profile.time.ranks) {
    double sum = 0;
    double share = 0;
    for (size_t c = 0; c < kTimeClassCount; ++c) {
      sum += rank.ms[c];
      share += rank.share[c];
    }
    EXPECT_NEAR(sum, rank.rank == 2 ? 75 + 27.0 / 14 : 75, 1e-9);
    EXPECT_NEAR(share, 1, 1e-12);
    EXPECT_EQ(rank.steps, 14u);
  }
}

TEST(Document, SpreadOverRanksNamesTheRankWithMost) {
  const Document document = built(testing::cpu_job());
  const ClassSpread& data = document.profile.time.over_ranks[static_cast<size_t>(TimeClass::kDataloader)];
  EXPECT_DOUBLE_EQ(data.median_ms, 4);
  EXPECT_DOUBLE_EQ(data.min_ms, 4);
  EXPECT_NEAR(data.max_ms, 24 + 27.0 / 14, 1e-9);
  EXPECT_EQ(data.max_rank, 2);
}

TEST(Document, FunctionsComeByWhatTheyExplain) {
  const Document document = built(testing::cpu_job());
  std::vector<uint64_t> ids;
  for (const FunctionRow& row : document.profile.functions) ids.push_back(row.id);
  EXPECT_THAT(ids, ElementsAre(testing::kAllReduce, testing::kMatrixProduct, testing::kAugment, testing::kBackward));
  const FunctionRow& all_reduce = document.profile.functions[0];
  EXPECT_DOUBLE_EQ(all_reduce.exposed_ms.median, 51);
  EXPECT_NEAR(all_reduce.executions_per_step, 2, 0.2);
  ASSERT_THAT(all_reduce.issuers, SizeIs(1));
  EXPECT_EQ(all_reduce.issuers[0].name, "backward");
  EXPECT_EQ(all_reduce.issuers[0].line, 31);
  const FunctionRow& augment = document.profile.functions[2];
  EXPECT_EQ(augment.exposed_ms.max_rank, 2);
  EXPECT_EQ(augment.line, 88);
  EXPECT_THAT(augment.hardware, SizeIs(4));
}

TEST(Document, FunctionThatOneRankRanCountsAsNothingOnTheOthers) {
  testing::SampleJob job = testing::cpu_job();
  for (RankPattern& pattern : job.patterns) {
    if (pattern.rank != 2) std::erase_if(pattern.functions, [](const auto& f) { return f.name == testing::kAugment; });
  }
  const Document document = built(job, {.function = "augment"});
  ASSERT_THAT(document.profile.functions, SizeIs(1));
  EXPECT_DOUBLE_EQ(document.profile.functions[0].exposed_ms.median, 0);
  EXPECT_GT(document.profile.functions[0].exposed_ms.max, 20);
  EXPECT_THAT(document.profile.functions[0].ranks, SizeIs(1));
}

TEST(Document, CollectivesCountTheCompleteStepsExactly) {
  const Document document = built(testing::cpu_job());
  ASSERT_THAT(document.profile.collectives, SizeIs(1));
  const CollectiveRow& row = document.profile.collectives[0];
  EXPECT_DOUBLE_EQ(row.count_per_step, 2);
  EXPECT_DOUBLE_EQ(row.bytes_per_step, 2 * 3'942'912.0);
  EXPECT_EQ(row.group_size, 4);
  ASSERT_TRUE(row.gigabytes_per_s.has_value());
  // The member that came last waited for nobody: 3.94 MB in 15.5 ms.
  EXPECT_NEAR(*row.gigabytes_per_s, 3'942'912 / 15.5e6, 0.001);
}

TEST(Document, SampledInstancesAreScaledByTheWindow) {
  const Document document = built(testing::gpu_job(2));
  ASSERT_THAT(document.profile.collectives, SizeIs(1));
  EXPECT_NEAR(document.profile.collectives[0].count_per_step, 12, 0.01);
}

TEST(Document, WithoutStepsFiguresAreOfTheWindowAndItSaysSo) {
  const Document document = built(testing::odd_job());
  EXPECT_FALSE(document.profile.steps.times.has_value());
  EXPECT_EQ(document.profile.steps.count, 0u);
  const RankTime& rank = document.profile.time.ranks.at(0);
  EXPECT_TRUE(rank.per_window);
  EXPECT_DOUBLE_EQ(of(rank.ms, TimeClass::kCompute), 500);
  EXPECT_DOUBLE_EQ(document.profile.functions.at(0).exposed_ms.median, 500);
  EXPECT_THAT(document.profile.notes, Contains(HasSubstr("whole window")));
  EXPECT_EQ(document.profile.functions.at(1).name, "(unknown function 0000000000abcdef)");
}

TEST(Document, OnlyIncompleteStepsAreBetterThanNone) {
  testing::SampleJob job = testing::cpu_job();
  for (RankPattern& pattern : job.patterns) {
    for (StepPattern& step : pattern.steps) step.complete = false;
  }
  const Document document = built(job);
  EXPECT_EQ(document.profile.time.ranks[0].steps, 16u);
  EXPECT_THAT(document.profile.notes, Contains(HasSubstr("no complete regular step")));
}

TEST(Document, MissingRanksAreNamed) {
  testing::SampleJob job = testing::cpu_job();
  job.patterns.erase(job.patterns.begin() + 1);
  const Document document = built(job);
  EXPECT_EQ(document.coverage.ranks_expected, 4);
  EXPECT_EQ(document.coverage.ranks_seen, 3u);
  EXPECT_THAT(document.profile.notes, Contains("rank 1 of 4: nothing to read"));
}

TEST(Document, ChosenRanksNarrowTheProfileButNotTheCoverage) {
  const Document document = built(testing::cpu_job(), {.ranks = {2}});
  EXPECT_THAT(document.profile.time.ranks, SizeIs(1));
  EXPECT_THAT(document.profile.steps.ranks, SizeIs(1));
  EXPECT_EQ(document.coverage.ranks_seen, 4u);
  EXPECT_EQ(document.import.events, 4u * 33'000 + 6);
}

TEST(Document, RankThatIsNotThereIsAnErrorThatSaysWhichAre) {
  const testing::SampleJob job = testing::cpu_job();
  const Result<Document> document = build_document(job.patterns, job.names, {.ranks = {2, 99}});
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.error().kind, Error::Kind::kInvalid);
  EXPECT_THAT(document.error().message, HasSubstr("no rank 99"));
  EXPECT_THAT(document.error().message, HasSubstr("ranks 0-3"));
}

TEST(Document, FunctionIsFoundByPartOfItsNameByFileAndById) {
  const testing::SampleJob job = testing::cpu_job();
  EXPECT_THAT(built(job, {.function = "all_red"}).profile.functions, SizeIs(1));
  EXPECT_THAT(built(job, {.function = "train.py"}).profile.functions, SizeIs(2));
  const Document by_id = built(job, {.function = "0000000000003333"});
  ASSERT_THAT(by_id.profile.functions, SizeIs(1));
  EXPECT_EQ(by_id.profile.functions[0].name, "augment");
  EXPECT_THAT(by_id.profile.functions[0].ranks[2].step_exposed_ms, SizeIs(16));
}

TEST(Document, UnknownFunctionIsAnErrorThatListsSome) {
  const testing::SampleJob job = testing::cpu_job();
  const Result<Document> document = build_document(job.patterns, job.names, {.function = "nothing_like_it"});
  ASSERT_FALSE(document.ok());
  EXPECT_THAT(document.error().message, HasSubstr("gloo:all_reduce"));
}

TEST(Document, TopLimitsTheListAndCountsTheRest) {
  const Document document = built(testing::cpu_job(), {.top = 1});
  EXPECT_THAT(document.profile.functions, SizeIs(1));
  EXPECT_EQ(document.profile.functions_left_out, 3u);
}

TEST(Document, OrderOfThePatternsDoesNotMatter) {
  testing::SampleJob job = testing::cpu_job();
  const Document forward = built(job);
  std::ranges::reverse(job.patterns);
  const Document backward = built(job);
  ASSERT_EQ(forward.profile.functions.size(), backward.profile.functions.size());
  for (size_t i = 0; i < forward.profile.functions.size(); ++i) {
    EXPECT_EQ(forward.profile.functions[i].exposed_ms.median, backward.profile.functions[i].exposed_ms.median);
  }
  EXPECT_EQ(backward.profile.time.ranks.front().rank, 0);
}

TEST(Document, SignalsThatSomeRankLacksAreMissing) {
  testing::SampleJob job = testing::cpu_job();
  EXPECT_THAT(built(job).coverage.signals_missing, IsEmpty());
  for (FunctionPattern& function : job.patterns[3].functions) function.hardware.clear();
  EXPECT_THAT(built(job).coverage.signals_missing, ElementsAre("cpu.run"));
}

TEST(Document, NothingAtAllIsAnError) { EXPECT_FALSE(build_document({}, {}, {}).ok()); }

}  // namespace
}  // namespace eroica
