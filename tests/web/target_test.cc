#include "web/target.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace eroica {
namespace {

TEST(Target, IsTakenApart) {
  const std::optional<Target> target = parse_target("/api/v1/jobs/a%2Fb/?limit=3&job=x+y%26&empty");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, (std::vector<std::string>{"api", "v1", "jobs", "a/b"}));
  EXPECT_EQ(target->query.at("limit"), "3");
  EXPECT_EQ(target->query.at("job"), "x y&");
  EXPECT_EQ(target->query.at("empty"), "");
}

TEST(Target, BrokenOnesAreRefused) {
  for (const char* broken : {"", "api", "/%", "/%4", "/%zz", "/a%00b", "/a?x=%0a", "http://other/"}) {
    EXPECT_FALSE(parse_target(broken)) << broken;
  }
}

RC_GTEST_PROP(TargetProperty, WhatWasEncodedComesBack, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', 127));
  const std::optional<Target> target = parse_target("/x/" + percent_encoded(text) + "?k=" + percent_encoded(text));
  RC_ASSERT(target.has_value());
  RC_ASSERT(target->query.at("k") == text);
  RC_ASSERT(text.empty() || target->path.back() == text);
}

RC_GTEST_PROP(TargetProperty, WhateverComesIsReadOrRefused, (const std::string& text)) {
  (void)parse_target("/" + text);
}

}  // namespace
}  // namespace eroica
