#include "agent/sampled_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using ::testing::ElementsAre;

std::string event(const char* phase, const char* name, const char* file, int line, int time_us, int thread = 7) {
  return nlohmann::json{{"ph", phase},
                        {"name", name},
                        {"cat", "py-spy"},
                        {"pid", 42},
                        {"tid", thread},
                        {"ts", time_us},
                        {"args", {{"filename", file}, {"line", line}}}}
      .dump();
}

std::vector<std::string> frames(const std::string& text) {
  std::vector<std::string> found;
  const std::optional<SampledStacks> stacks = sampled_stacks(text, 42, 1'000'000'007);
  if (!stacks) return {"none"};
  const nlohmann::json document = nlohmann::json::parse(stacks->json);
  EXPECT_EQ(document["baseTimeNanoseconds"], 1'000'000'007);
  for (const nlohmann::json& frame : document["traceEvents"]) {
    EXPECT_EQ(frame["cat"], "python_function");
    EXPECT_EQ(frame["tid"], 42);
    found.push_back(frame["name"].get<std::string>() + " " + frame["ts"].dump() + "+" + frame["dur"].dump());
  }
  return found;
}

TEST(SampledStacks, FramesOfTheMainThreadBecomePythonFunctions) {
  const std::string text =
      "[" + event("B", "thread (9): Thread-1", "", 0, 10, 9) + "," +
      event("B", "wait", "/usr/lib/threading.py", 3, 10, 9) + "," + event("B", "thread (42): MainThread", "", 0, 20) +
      "," + event("B", "main", "/job/train.py", 5, 20) + "," + event("B", "load", "/job/data.py", 9, 20) + "," +
      event("E", "load", "/job/data.py", 9, 60) + "," + event("B", "step", "/job/train.py", 30, 60) + "," +
      event("E", "wait", "/usr/lib/threading.py", 3, 90, 9) + "," + event("E", "step", "/job/train.py", 30, 100) + "]";
  EXPECT_THAT(frames(text), ElementsAre("/job/train.py(5): main 20+80", "/job/data.py(9): load 20+40",
                                        "/job/train.py(30): step 60+40"));
}

TEST(SampledStacks, AProcessThatSeesItselfUnderAnotherNumberHasAMainThreadToo) {
  EXPECT_THAT(
      frames("[" + event("B", "thread (1): MainThread", "", 0, 20) + "," + event("B", "main", "/job/train.py", 5, 20) +
             "," + event("E", "main", "/job/train.py", 5, 50) + "]"),
      ElementsAre("/job/train.py(5): main 20+30"));
}

TEST(SampledStacks, OfADocumentThatIsCutTheBeginningIsKept) {
  const std::string text = "[" + event("B", "thread (42): MainThread", "", 0, 20) + "," +
                           event("B", "main", "/job/\"train\".py", 5, 20) + "," +
                           event("B", "load", "/job/data.py", 9, 30) + "," + event("E", "load", "/job/data.py", 9, 60) +
                           "," + event("E", "main", "/job/train.py", 5, 100);
  const std::string whole = text + "]";
  EXPECT_FALSE(sampled_stacks(whole, 42, 0)->cut);
  for (const std::string& part : {text, text.substr(0, text.size() - 10)}) {
    const std::optional<SampledStacks> stacks = sampled_stacks(part, 42, 0);
    ASSERT_TRUE(stacks);
    EXPECT_TRUE(stacks->cut);
  }
  EXPECT_EQ(sampled_stacks(text.substr(0, text.size() - 10), 42, 1000)->last_unix_ns, 61'000);
  EXPECT_THAT(frames(text.substr(0, text.size() - 10)),
              ElementsAre("/job/\"train\".py(5): main 20+40", "/job/data.py(9): load 30+30"));
}

TEST(SampledStacks, WhatIsNoneOfPySpysIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{"), std::string("[3, {\"ph\": 4}, {\"ph\": \"E\"}]"),
        "[" + event("B", "thread (8): Thread-1", "", 0, 1) + "," + event("B", "f", "x.py", 1, 2) + "]",
        "[" + event("B", "thread (42): MainThread", "", 0, -5) + "]", std::string(100'000, '[')}) {
    EXPECT_FALSE(sampled_stacks(text, 42, 0)) << text.substr(0, 80);
  }
}

RC_GTEST_PROP(SampledStacks, NeverThrows, (const std::string& text)) { (void)sampled_stacks(text, 1, 0); }

}  // namespace
}  // namespace eroica
