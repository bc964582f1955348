// Damage costs its neighbourhood and no more.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "random_document.h"
#include "trace/kineto_reader.h"
#include "trace_text.h"

namespace eroica {
namespace {

using testkit::events_text;

Trace read(const std::string& document) {
  Result<Trace> trace = read_kineto(memory_source(document));
  if (!trace.ok()) {
    ADD_FAILURE() << trace.error().message;
    return Trace();
  }
  return std::move(*trace);
}

std::string event(const std::string& name_text, int ts) {
  return R"({"ph": "X", "cat": "cpu_op", "name": )" + name_text + R"(, "pid": 1, "tid": 1, "ts": )" +
         std::to_string(ts) + R"(, "dur": 1, "args": {"External id": )" + std::to_string(ts) + "}}";
}

/// The damaged event between two good ones.
std::string among_others(const std::string& damaged) {
  return "{\"traceEvents\": [" + event("\"before\"", 1) + ",\n" + damaged + ",\n" + event("\"after\"", 9) + "]}";
}

struct Repair {
  const char* what;
  std::string damaged;
  std::string line;  ///< what is read of it
};

class Repaired : public ::testing::TestWithParam<Repair> {};

TEST_P(Repaired, TheEventIsReadAndTheOthersAreUntouched) {
  const Trace trace = read(among_others(GetParam().damaged));
  EXPECT_EQ(events_text(trace), "before 1000+1000\n" + GetParam().line + "after 9000+1000\n");
  EXPECT_EQ(trace.defects.of(Defect::kRepairedEvent), GetParam().line.empty() ? 0U : 1U);
  EXPECT_EQ(trace.defects.of(Defect::kBadEvent) > 0, GetParam().line.empty());
  EXPECT_EQ(trace.defects.of(Defect::kTruncated), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    AllKinds, Repaired,
    ::testing::Values(
        Repair{"two stray quotes", event(R"("foo "bar" baz")", 5), "foo \"bar\" baz 5000+1000\n"},
        Repair{"one stray quote", event(R"("foo "bar baz")", 5), "foo \"bar baz 5000+1000\n"},
        Repair{"quotes around braces", event(R"("a "{" b")", 5), "a \"{\" b 5000+1000\n"},
        Repair{"quotes around a closing brace", event(R"("a "}" b")", 5), "a \"}\" b 5000+1000\n"},
        Repair{"a line break in a name", event("\"two\nlines\"", 5), "two lines 5000+1000\n"},
        Repair{"a bad escape", event(R"("C:\dir")", 5), "C:\\dir 5000+1000\n"},
        Repair{"nan in an argument",
               R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"bw": nan, "x": -inf}})",
               "a 5000+1000\n"},
        Repair{"nan as a duration", R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": nan})",
               "a 5000+0\n"},
        Repair{"nan as a time", R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": nan, "dur": 1})", ""},
        Repair{"a missing comma", R"({"ph": "X" "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1})", ""},
        Repair{"a lost end", R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"x": [1, 2})",
               "a 5000+1000\n"},
        Repair{"a lost beginning", R"("a", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"x": 5}})", ""}),
    [](const auto& test) {
      std::string name = test.param.what;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST(Damage, InvalidUtf8IsReplaced) {
  const Trace trace = read(among_others(event("\"caf\xe9\"", 5)));
  EXPECT_EQ(events_text(trace), "before 1000+1000\ncaf\xef\xbf\xbd 5000+1000\nafter 9000+1000\n");
  EXPECT_EQ(trace.defects.of(Defect::kInvalidUtf8), 1U);
}

TEST(Damage, AStringThatNeverEndsCostsOneEvent) {
  const Trace trace = read(among_others(R"({"ph": "X", "ts": 5, "dur": 1, "pid": 1, "tid": 1, "name": "open})"));
  EXPECT_EQ(trace.timed_events, 3U);
  EXPECT_EQ(trace.defects.of(Defect::kRepairedEvent), 1U);
}

TEST(Damage, DeepNestingNeedsNoStack) {
  const std::string deep = std::string(2000000, '[') + std::string(2000000, ']');
  const Trace trace = read(among_others(
      R"({"ph": "X", "name": "deep", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"x": )" + deep + "}}"));
  EXPECT_EQ(trace.timed_events, 3U);
  EXPECT_FALSE(trace.defects.any());
  EXPECT_EQ(read("{\"x\": " + deep + ", \"traceEvents\": [" + event("\"a\"", 1) + "]}").timed_events, 1U);
  EXPECT_EQ(read(among_others(std::string(3000000, '{'))).timed_events, 2U);
}

TEST(Damage, AnEventLargerThanAnyIsSkipped) {
  const Trace trace = read(among_others(event('"' + std::string(20 << 20, 'x') + '"', 5)));
  EXPECT_EQ(events_text(trace), "before 1000+1000\nafter 9000+1000\n");
  EXPECT_EQ(trace.defects.of(Defect::kBadEvent), 1U);
}

TEST(Damage, ADamagedHeaderDoesNotHideTheEvents) {
  const std::string events = "\"traceEvents\": [" + event("\"a\"", 1) + "]}";
  for (const char* header : {"{\"INFO\": [\"said \"hello\" to\"], ", "{\"x\": {\"y\": 1, ", "{\"x\" 5, ", "{{{",
                             "\"x\": 5, ", "{\"x\": \"open, ", "{nan, "}) {
    const Trace trace = read(std::string(header) + events);
    EXPECT_EQ(trace.timed_events, 1U) << header;
  }
}

TEST(Damage, AStrayBracketDoesNotEndTheEvents) {
  const std::string good = event("\"a\"", 1);
  for (const char* stray : {"], ", "}, ", "]}, ", "{, ", ",, ", "7 8, "}) {
    std::string elements = good;
    for (int i = 2; i < 20; ++i) elements += ", " + std::string(i == 10 ? stray : "") + event("\"a\"", i);
    EXPECT_GE(read("{\"traceEvents\": [" + elements + "]}").timed_events, 17U) << stray;
    EXPECT_GE(read("[" + elements + "]").timed_events, 17U) << stray;
  }
}

TEST(Damage, ATruncatedDocumentKeepsWhatCameBefore) {
  const std::string whole = among_others(event("\"middle\"", 5));
  for (size_t size = whole.find('['); size + 1 < whole.size(); ++size) {
    const Trace trace = read(whole.substr(0, size + 1));
    EXPECT_EQ(trace.defects.of(Defect::kTruncated), 1U) << size;
    EXPECT_LE(trace.timed_events, 3U);
    EXPECT_EQ(trace.defects.of(Defect::kBadEvent), 0U) << size;
  }
  EXPECT_EQ(read(whole.substr(0, whole.size() - 2)).timed_events, 3U);
}

TEST(Damage, TrailingDataIsCounted) {
  const Trace trace = read(among_others(event("\"a\"", 5)) + " more");
  EXPECT_EQ(trace.timed_events, 3U);
  EXPECT_EQ(trace.defects.of(Defect::kTrailingData), 1U);
}

// Only the damaged event and the ones right beside it may be lost; nothing may appear that was not there.
RC_GTEST_PROP(Damage, CostsItsNeighbourhoodOnly, (uint32_t seed)) {
  std::mt19937 random(seed);
  std::string document = "{\"traceEvents\": [";
  constexpr int kEvents = 60;
  const std::string gap = seed % 2 == 0 ? ", " : ",\n  ";
  for (int i = 1; i <= kEvents; ++i)
    document += (i > 1 ? gap : "") + event("\"op \\\"{}\\\" [" + std::to_string(i) + "]\"", i);
  document += "]}";
  const size_t at = document.find('[') + 1 + random() % (document.size() - 30);
  switch (random() % 3) {
    case 0:
      document[std::min(at, document.size() - 3)] = static_cast<char>(random());
      break;
    case 1:
      document.erase(std::min(at, document.size() - 3), 1 + random() % 100);
      break;
    default:
      document.insert(std::min(at, document.size() - 3), 1, "\"{}[],\\:"[random() % 8]);
  }
  const Result<Trace> trace = read_kineto(memory_source(document));
  RC_ASSERT(trace.ok());
  RC_ASSERT(trace->timed_events + 4 >= uint64_t{kEvents});
  RC_ASSERT(trace->timed_events <= uint64_t{kEvents});
}

class RecordedTraces : public ::testing::TestWithParam<const char*> {
 protected:
  /// The text of a recorded trace.
  static std::string text_of(const char* name) {
    const char* shared = std::getenv("EROICA_SHARED");
    const std::string path =
        (shared != nullptr && *shared != '\0' ? std::string(shared) : "../shared") + "/data/" + name;
    if (!std::filesystem::exists(path)) return {};
    Result<std::unique_ptr<ByteSource>> file = open_file(path);
    if (!file.ok()) return {};
    const std::unique_ptr<DecompressedSource> source = decompress(std::move(*file));
    std::string text;
    std::vector<char> buffer(1 << 20);
    for (Result<size_t> got = source->read(buffer); got.ok() && *got > 0; got = source->read(buffer)) {
      text.append(buffer.data(), *got);
    }
    return text;
  }
};

TEST_P(RecordedTraces, SurviveCutsAndCorruption) {
  const std::string whole = text_of(GetParam());
  if (whole.empty()) GTEST_SKIP() << GetParam() << " is not here (EROICA_SHARED)";
  const uint64_t all = read(whole).timed_events;
  ASSERT_GT(all, 0U);
  const size_t begin = whole.find("\"traceEvents\"") + 20;
  std::mt19937 random(1);
  for (int round = 0; round < 6; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 10; ++i) {
      const size_t at = begin + random() % (whole.size() - begin - 400);
      if (round % 3 == 0) damaged[at] = static_cast<char>(random());
      if (round % 3 == 1) damaged[at] = '"';
      if (round % 3 == 2) damaged.erase(std::min(at, damaged.size() - 400), 1 + random() % 300);
    }
    const Trace trace = read(damaged);
    EXPECT_GE(trace.timed_events + 40, all) << "round " << round;
    EXPECT_LE(trace.timed_events, all) << "round " << round;

    const size_t cut = begin + random() % (whole.size() - begin);
    const Trace front = read(whole.substr(0, cut));
    EXPECT_LE(front.timed_events, all);
    EXPECT_EQ(front.defects.of(Defect::kTruncated), 1U);
    EXPECT_EQ(front.defects.of(Defect::kBadEvent) + front.defects.of(Defect::kRepairedEvent), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, RecordedTraces,
                         ::testing::Values("incidents/healthy-1/rank0.json.gz", "incidents/slow-kernel/rank3.json.zst",
                                           "traces/pair-of-128/sampled_rank-0.json.gz",
                                           "traces/rocm-mi300-rccl/rank0.json.gz"));

}  // namespace
}  // namespace eroica
