#include "report/json_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

// The library's own layout is the one that is wanted: JsonWriter only does without its tree.
std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

struct Row {
  int32_t rank;
  std::vector<double> ms;
};

TEST(JsonWriter, LaysOutAsTheLibraryDoes) {
  const std::vector<Row> rows{{0, {1.5, 2}}, {1, {}}};
  const Json expected = {{"text", "a"},
                         {"truth", true},
                         {"count", uint64_t{18446744073709551615U}},
                         {"less", int64_t{-3}},
                         {"absent", nullptr},
                         {"rows", {{{"rank", 0}, {"ms", {1.5, 2.0}}}, {{"rank", 1}, {"ms", Json::array()}}}},
                         {"none", Json::array()},
                         {"object", {{"name", "b"}}},
                         {"empty", Json::object()}};
  for (const int indent : {-1, 0, 2}) {
    JsonWriter out(indent);
    out.member("text", "a");
    out.member("truth", true);
    out.member("count", uint64_t{18446744073709551615U});
    out.member("less", int64_t{-3});
    out.member("absent", std::optional<double>());
    out.array("rows", rows, [](JsonWriter& of_row, const Row& row) {
      of_row.member("rank", row.rank);
      of_row.member("ms", row.ms);
    });
    out.member("none", std::vector<std::string>());
    out.member("object", [&] { out.member("name", std::string("b")); });
    out.member("empty", [] {});
    EXPECT_EQ(out.finish(), dumped(expected, indent));
  }
}

RC_GTEST_PROP(JsonWriter, WritesNumbersAsTheLibraryDoes, ()) {
  const auto number = *rc::gen::arbitrary<double>();
  const double rounded = std::round(number * 1e3) / 1e3;
  for (const double value : {number, rounded}) {
    JsonWriter out(-1);
    out.member("value", value);
    RC_ASSERT(out.finish() == dumped({{"value", value}}, -1));
  }
}

TEST(JsonWriter, WhatIsNoNumberIsNull) {
  JsonWriter out(-1);
  out.member("values", std::vector{std::nan(""), std::numeric_limits<double>::infinity()});
  EXPECT_EQ(out.finish(), R"({"values":[null,null]})");
}

RC_GTEST_PROP(JsonWriter, WritesAnyTextAsTheLibraryDoes, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  JsonWriter out(-1);
  out.member("text", text);
  RC_ASSERT(out.finish() == dumped({{"text", text}}, -1));
}

}  // namespace
}  // namespace eroica
