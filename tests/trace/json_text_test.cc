#include "trace/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace eroica {
namespace {

RC_GTEST_PROP(ParseScaled, RestoresEveryInteger, (int64_t value)) {
  int64_t parsed = 0;
  RC_PRE(value != INT64_MIN);
  RC_ASSERT(parse_integer(std::to_string(value), parsed) == NumberStatus::kOk);
  RC_ASSERT(parsed == value);
}

RC_GTEST_PROP(ParseScaled, RestoresEveryNanosecond, (uint32_t micros, uint16_t rest)) {
  std::string text = std::to_string(rest % 1000);
  text = std::to_string(micros) + "." + std::string(3 - text.size(), '0') + text;
  int64_t parsed = 0;
  RC_ASSERT(parse_us_as_ns(text, parsed) == NumberStatus::kOk);
  RC_ASSERT(parsed == int64_t{micros} * 1000 + rest % 1000);
  RC_ASSERT(parse_us_as_ns('"' + text + "e0\"", parsed) == NumberStatus::kOk);
  RC_ASSERT(parsed == int64_t{micros} * 1000 + rest % 1000);
}

TEST(ParseScaled, TellsWhatIsNoNumber) {
  int64_t value = 0;
  for (const char* text :
       {"", "-", ".", "abc", "1x", "1.2.3", "1e", "1e+-2", "nan", "inf", "0x10", "null", "[1]", "--1"}) {
    EXPECT_EQ(parse_us_as_ns(text, value), NumberStatus::kNotANumber) << text;
  }
  for (const char* text : {"9223372036854775808", "1e30", "99999999999999999999999", "1e999999999999"}) {
    EXPECT_EQ(parse_integer(text, value), NumberStatus::kTooLarge) << text;
  }
  EXPECT_EQ(parse_integer("9223372036854775807", value), NumberStatus::kOk);
  EXPECT_EQ(value, INT64_MAX);
  EXPECT_EQ(parse_integer("0e99999", value), NumberStatus::kOk);
  EXPECT_EQ(value, 0);
}

std::string unescaped(std::string_view body, size_t max_bytes = 100) {
  std::string out;
  unescape(body, max_bytes, out);
  return out;
}

TEST(Unescape, ResolvesEscapesAndKeepsBadOnes) {
  EXPECT_EQ(unescaped(R"(a\"b\\c\/d\u00e9\ud83d\ude00)"), "a\"b\\c/dé😀");
  EXPECT_EQ(unescaped(R"(C:\dir\u12)"), "C:\\dir\\u12");
  EXPECT_EQ(unescaped(R"(\ud800x)"), "\xef\xbf\xbdx");
  EXPECT_EQ(unescaped("a\nb\x01"), "a b ");
  EXPECT_EQ(unescaped(R"(\u001b[31m)"), " [31m");
  EXPECT_EQ(unescaped("\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(unescaped("ää", 3), "ä");
  EXPECT_EQ(unescaped("\\"), "\\");
}

TEST(CompactJson, RemovesLineBreaksOutsideStrings) {
  EXPECT_EQ(compact_json("[\n  [8,\n 1], \"a, \\\" b\"]"), "[[8, 1], \"a, \\\" b\"]");
}

TEST(ForEachMember, VisitsMembersUpToTheFirstDamage) {
  const auto members = [](std::string_view object) {
    std::vector<std::string> out;
    for_each_member(object, [&](std::string_view key, std::string_view value) {
      out.push_back(std::string(key) + "=" + std::string(value));
    });
    return out;
  };
  using Members = std::vector<std::string>;
  EXPECT_EQ(members(R"({"a": 1, "": [1, {"x": "]"}] , "b":"c,}"})"),
            (Members{"a=1", "=[1, {\"x\": \"]\"}]", "b=\"c,}\""}));
  EXPECT_EQ(members("{}"), Members{});
  EXPECT_EQ(members(R"({"a": 1, "b" 2})"), Members{"a=1"});
  EXPECT_EQ(members(R"({"a": 1, "b": [2)"), Members{"a=1"});
}

}  // namespace
}  // namespace eroica
