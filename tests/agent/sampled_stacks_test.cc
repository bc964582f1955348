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
  const std::optional<std::string> json = sampled_stacks_json(text, 42, 1'000'000'007);
  if (!json) return {"none"};
  const nlohmann::json document = nlohmann::json::parse(*json);
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

TEST(SampledStacks, WhatIsNoneOfPySpysIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{"), std::string("[3, {\"ph\": 4}, {\"ph\": \"E\"}]"),
        "[" + event("B", "thread (8): Thread-1", "", 0, 1) + "," + event("B", "f", "x.py", 1, 2) + "]",
        "[" + event("B", "thread (42): MainThread", "", 0, -5) + "]", std::string(100'000, '[')}) {
    EXPECT_FALSE(sampled_stacks_json(text, 42, 0)) << text.substr(0, 80);
  }
}

RC_GTEST_PROP(SampledStacks, NeverThrows, (const std::string& text)) { (void)sampled_stacks_json(text, 1, 0); }

}  // namespace
}  // namespace eroica
