#include "agent/probe_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;

std::string message(uint8_t type, const std::string& payload) {
  return "ERP1" + std::string(1, static_cast<char>(type)) + payload;
}

template <typename Number>
void put(std::string& bytes, size_t offset, Number number) {
  std::memcpy(bytes.data() + offset, &number, sizeof number);
}

std::string step_bytes() {
  std::string bytes = message(1, std::string(52, '\0'));
  put(bytes, 5, int32_t{3});
  put(bytes, 9, uint32_t{2});
  put(bytes, 13, int64_t{41});
  put(bytes, 21, int64_t{1'700'000'000'000'000'000});
  put(bytes, 29, int64_t{5'000});
  put(bytes, 37, int64_t{600});
  put(bytes, 45, uint32_t{1});
  put(bytes, 49, uint32_t{18'000});
  put(bytes, 53, uint32_t{1});
  return bytes;
}

template <typename Message>
Message decoded(uint8_t type, const std::string& payload) {
  const auto read = decode_probe(message(type, payload));
  if (!read || !std::holds_alternative<Message>(*read)) {
    ADD_FAILURE() << "not read: " << payload;
    return {};
  }
  return std::get<Message>(*read);
}

TEST(ProbeMessage, Step) {
  const auto read = decode_probe(step_bytes());
  ASSERT_TRUE(read);
  const auto& step = std::get<StepMessage>(*read);
  const StepRecord expected{3, 41, 1'700'000'000'000'000'000, 5'000, 600, 1};
  EXPECT_EQ(step.record, expected);
  EXPECT_EQ(step.dropped, 2);
  EXPECT_EQ(step.probe_cost_ns, 18'000);
  EXPECT_EQ(step.optimizer_index, 1);
  EXPECT_FALSE(decode_probe(step_bytes().substr(0, 56)));
  EXPECT_FALSE(decode_probe(step_bytes() + "x"));
  std::string negative = step_bytes();
  put(negative, 5, int32_t{-3});
  EXPECT_FALSE(decode_probe(negative));
}

TEST(ProbeMessage, Hello) {
  const auto hello = decoded<HelloMessage>(2, R"({"pid": 7, "rank": 1, "world_size": 4, "local_rank": 1, "host": "h",
      "launcher": false, "cuda": null, "torch": "2.13.0", "env": {"OMP_NUM_THREADS": "1", "X": 3},
      "capabilities": {"step_hook": true, "stack_signal": 44, "stack_file": "stacks-7-ab", "kineto_daemon": true}})");
  EXPECT_EQ(hello.pid, 7);
  EXPECT_EQ(hello.rank, 1);
  EXPECT_EQ(hello.world_size, 4);
  EXPECT_EQ(hello.cuda, "");
  EXPECT_TRUE(hello.kineto_daemon);
  EXPECT_EQ(hello.stack_signal, 44);
  EXPECT_EQ(hello.stack_file, "stacks-7-ab");
  EXPECT_THAT(hello.env, ElementsAre(std::pair<const std::string, std::string>{"OMP_NUM_THREADS", "1"}));
}

TEST(ProbeMessage, FieldsOfAWrongKindHaveTheirDefaults) {
  const auto hello = decoded<HelloMessage>(2, R"({"pid": "x", "rank": -5, "world_size": 1e99, "host": [],
      "capabilities": {"stack_signal": 99999999999, "stack_file": "stacks-/../../x"}})");
  EXPECT_EQ(hello.pid, -1);
  EXPECT_EQ(hello.rank, -1);
  EXPECT_EQ(hello.world_size, -1);
  EXPECT_EQ(hello.stack_signal, -1);
  EXPECT_EQ(hello.stack_file, "");
  EXPECT_EQ(decoded<HelloMessage>(2, R"({"pid": 18446744073709551615, "capabilities": 3})").pid, -1);
}

TEST(ProbeMessage, GroupsHaveTheirMembersInOrder) {
  const auto groups = decoded<GroupsMessage>(
      3, R"({"rank": 0, "set": 2, "groups": [{"name": "0", "desc": "default_pg", "ranks": [[0, 3, 1], [8, 2, -3]]}]})");
  ASSERT_EQ(groups.groups.size(), 1);
  EXPECT_EQ(groups.set, 2);
  EXPECT_THAT(groups.groups[0].ranks, ElementsAre(0, 1, 2, 8, 5));
}

TEST(ProbeMessage, NoRangeTakesAllMemory) {
  for (const char* run : {"[0, 9223372036854775807, 1]", "[0, 9999999, 1]", "[0, 5, 0]", "[0, 5]", "[\"a\", 1, 1]",
                          "[5, -9223372036854775808, -1]"}) {
    EXPECT_FALSE(
        decode_probe(message(3, R"({"rank": 0, "groups": [{"name": "0", "ranks": [)" + std::string(run) + "]}]}")))
        << run;
  }
}

TEST(ProbeMessage, RepliesEdgesAndFarewells) {
  const auto reply = decoded<ReplyMessage>(5, R"({"request": 12, "ok": false, "error": "busy"})");
  EXPECT_EQ(reply.request, "12");
  EXPECT_EQ(reply.error, "busy");
  EXPECT_TRUE(decoded<EdgeMessage>(4, R"({"rank": 1, "window": "w", "edge": "end"})").end);
  EXPECT_EQ(decoded<ByeMessage>(6, R"({"rank": 1, "exception": "ValueError", "line": -3})").line, 0);
  EXPECT_EQ(decoded<OffMessage>(7, R"({"rank": 1, "reason": "errors"})").reason, "errors");
}

TEST(ProbeMessage, GarbageIsNone) {
  for (const std::string& bytes :
       {std::string(), std::string("ERP1"), std::string("ERP2\x02{}"), message(9, "{}"), message(2, ""),
        message(2, "{"), message(2, "[]"), message(3, R"({"groups": 3})"), message(2, std::string(59'000, '['))}) {
    EXPECT_FALSE(decode_probe(bytes));
  }
  EXPECT_FALSE(decode_probe(message(2, "{\"host\": \"" + std::string(60'000, 'x') + "\"}")));
}

RC_GTEST_PROP(ProbeMessage, NeverThrows, (const std::string& payload, uint8_t type)) {
  (void)decode_probe(message(static_cast<uint8_t>(type % 9), payload));
  (void)decode_probe(payload);
}

TEST(ProbeMessage, CommandsAreJson) {
  EXPECT_EQ(encode_window("w", 1, 2), R"({"do":"window","end_unix_ns":2,"start_unix_ns":1,"window":"w"})");
}

}  // namespace
}  // namespace eroica::testing
