#include "trace/document_kind.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace eroica {
namespace {

DocumentKind whole_kind(const std::string& text) {
  const std::optional<DocumentKind> kind = document_kind(text, true);
  EXPECT_TRUE(kind.has_value()) << text;
  return kind.value_or(DocumentKind::kEmpty);
}

const std::string kSample =
    R"({"ph": "C", "cat": "hardware_counters", "name": "cpu.run", "pid": "rank 0", "tid": 0, "ts": 5.1, "args": {"cores": 0.5}})";
const std::string kKernel = R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2})";
const std::string kMetadata = R"({"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "x"}})";

TEST(DocumentKind, TracesAreObjectsWithTraceEventsOrArraysOfEvents) {
  EXPECT_EQ(whole_kind(R"({"schemaVersion": 1, "traceEvents": [)" + kKernel + "]}"), DocumentKind::kTrace);
  EXPECT_EQ(whole_kind(R"({"metadata": {"a": ["b}", 1, null]}, "traceEvents": []})"), DocumentKind::kTrace);
  EXPECT_EQ(whole_kind("[" + kKernel + "]"), DocumentKind::kTrace);
  EXPECT_EQ(whole_kind("\xEF\xBB\xBF \n[" + kMetadata + "," + kKernel + "]"), DocumentKind::kTrace);
  EXPECT_EQ(whole_kind("[" + kMetadata + "]"), DocumentKind::kTrace);
}

TEST(DocumentKind, SamplesHoldCountersOnly) {
  EXPECT_EQ(whole_kind(R"({"baseTimeNanoseconds": 5, "traceEvents": [)" + kSample + "," + kSample + "]}"),
            DocumentKind::kSamples);
  EXPECT_EQ(whole_kind(R"({"traceEvents": [)" + kMetadata + "," + kSample + "]}"), DocumentKind::kSamples);
  EXPECT_EQ(whole_kind("[" + kSample + "]"), DocumentKind::kSamples);
  EXPECT_EQ(whole_kind(R"({"traceEvents": [)" + kSample + "," + kKernel + "]}"), DocumentKind::kTrace);
  EXPECT_EQ(whole_kind(R"({"deviceProperties": [], "traceEvents": [)" + kSample + "]}"), DocumentKind::kTrace)
      << "Kineto's own counters may come first";
  EXPECT_EQ(
      whole_kind(
          R"({"traceEvents": [{"ph":"C","cat":"hardware_counters","name":"m","pid":"GPU 0 Counters","args":{"":1}}]})"),
      DocumentKind::kTrace);
  EXPECT_EQ(whole_kind(R"({"traceEvents": [{"ph":"C","name":"loss","pid":1,"args":{"v":1}}]})"), DocumentKind::kTrace);
}

TEST(DocumentKind, OtherJsonIsToldApart) {
  EXPECT_EQ(whole_kind(R"({"step_seconds": [[0.1, 0.2]]})"), DocumentKind::kOther);
  EXPECT_EQ(whole_kind(R"({"healthy": true, "ranks": []})"), DocumentKind::kOther);
  EXPECT_EQ(whole_kind("{}"), DocumentKind::kOther);
  EXPECT_EQ(whole_kind("[]"), DocumentKind::kOther);
  EXPECT_EQ(whole_kind("[1, 2]"), DocumentKind::kOther);
  EXPECT_EQ(whole_kind(R"([{"a": 1}])"), DocumentKind::kOther);
  EXPECT_EQ(whole_kind(R"({"traceEvents": 5})"), DocumentKind::kOther);
  EXPECT_EQ(whole_kind(R"({"inner": {"traceEvents": []}})"), DocumentKind::kOther);
}

TEST(DocumentKind, NoJsonAndNothing) {
  EXPECT_EQ(whole_kind("dp_rank,stage\n0,0\n"), DocumentKind::kNotJson);
  EXPECT_EQ(whole_kind(std::string("\0\1\2", 3)), DocumentKind::kNotJson);
  EXPECT_EQ(whole_kind(""), DocumentKind::kEmpty);
  EXPECT_EQ(whole_kind(" \n\t "), DocumentKind::kEmpty);
}

TEST(DocumentKind, DamageDoesNotHideATrace) {
  EXPECT_EQ(whole_kind(R"({"schemaVersion": 1, "deviceProp)"), DocumentKind::kCut);
  EXPECT_EQ(whole_kind("["), DocumentKind::kCut);
  EXPECT_EQ(whole_kind(R"({"deviceProperties": [{"id": 0)"), DocumentKind::kTrace) << "cut early";
  EXPECT_EQ(whole_kind(R"({"note": "an "unescaped" quote", "traceEvents": [)" + kKernel), DocumentKind::kTrace);
  EXPECT_EQ(whole_kind(R"({"traceEvents": [{"ph": "X", "name": "a "b" c", "ts": nan}, )" + kKernel + "]}"),
            DocumentKind::kTrace);
  EXPECT_EQ(whole_kind(R"([{"name": "a "b" c", "ph": "X", "ts": 1}])"), DocumentKind::kTrace);
  EXPECT_EQ(whole_kind(R"({"traceEvents": [)" + kSample + R"(, {"ph": "C", "na)"), DocumentKind::kSamples);
}

TEST(DocumentKind, WaitsForMoreWhereTheBeginningDoesNotDecide) {
  EXPECT_EQ(document_kind("", false), std::nullopt);
  EXPECT_EQ(document_kind(R"({"schemaVersion": 1, "notes": "abc)", false), std::nullopt);
  EXPECT_EQ(document_kind("[", false), std::nullopt);
  EXPECT_EQ(document_kind(R"([{"name": "a long one)", false), std::nullopt);
  EXPECT_EQ(document_kind(R"({"traceEvents": [{"name": "a long one)", false), DocumentKind::kTrace);
}

TEST(DocumentKind, MoreTextNeverTurnsATraceIntoNoTrace) {
  const std::string texts[] = {
      R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [)" + kMetadata + "," + kKernel + "]}",
      "[" + kMetadata + "," + kKernel + "," + kSample + "]",
  };
  for (const std::string& text : texts) {
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      const auto kind = document_kind(std::string_view(text).substr(0, cut), false);
      EXPECT_TRUE(!kind || *kind == DocumentKind::kTrace) << text.substr(0, cut);
    }
  }
}

TEST(DocumentKind, AnyBytesEnd) {
  EXPECT_TRUE(rc::check("no text makes it run on or read beyond", [] {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("{}[],:\"\\ phCatrceEvnts01-\n")));
    const auto kind = document_kind(text, true);
    RC_ASSERT(kind.has_value());
  }));
}

}  // namespace
}  // namespace eroica
