#include "agent/probe_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <numeric>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;

std::string message(uint8_t type, const std::string& payload) {
  return "ERP1" + std::string(1, static_cast<char>(type)) + payload;
}

std::string step_bytes(int32_t rank = 3, int64_t step = 41) {
  const std::array<uint64_t, 7> words = {static_cast<uint64_t>(step),
                                         uint64_t{1'700'000'000'000'000'000},
                                         5'000,
                                         600,
                                         uint64_t{1} << 32 | 18'000,
                                         uint64_t{1} << 32 | static_cast<uint32_t>(rank),
                                         2};
  const uint64_t sum = std::accumulate(words.begin(), words.end(), uint64_t{0x4552'4f49'4341}) & ~uint64_t{0} >> 1;
  std::string payload(reinterpret_cast<const char*>(words.data()), sizeof words);
  payload.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return message(1, payload);
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
  EXPECT_FALSE(decode_probe(step_bytes().substr(0, 68)));
  EXPECT_FALSE(decode_probe(step_bytes() + "x"));
  EXPECT_FALSE(decode_probe(step_bytes(-3)));
  EXPECT_FALSE(decode_probe(step_bytes(3, 0)));
  for (size_t at = 5; at < step_bytes().size(); ++at) {
    std::string changed = step_bytes();
    ++changed[at];
    EXPECT_FALSE(decode_probe(changed)) << at;
  }
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
  EXPECT_EQ(hello.gpu, std::nullopt);
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
  EXPECT_EQ(decoded<HelloMessage>(2, R"({"rank": 1, "gpu": true})").gpu, true);
  EXPECT_EQ(decoded<HelloMessage>(2, R"({"rank": 1, "gpu": 1})").gpu, std::nullopt);
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
  const auto edge = decoded<EdgeMessage>(4, R"({"rank": 1, "window": "w", "edge": "end", "unix_ns": 17, "step": 3,
    "step_unix_ns": 12, "groups": [{"name": "0", "last_enqueued": 5, "last_started": -1, "last_completed": 4},
                                   {"name": null, "last_enqueued": 1}, 7, {"name": "tp", "last_completed": -9}]})");
  EXPECT_TRUE(edge.end);
  EXPECT_EQ(edge.read.unix_ns, 17);
  EXPECT_EQ(edge.read.step, 3);
  EXPECT_EQ(edge.read.step_unix_ns, 12);
  ASSERT_EQ(edge.read.groups.size(), 2U) << "one without a name tells nothing";
  EXPECT_EQ(edge.read.groups[0].last_enqueued, 5);
  EXPECT_EQ(edge.read.groups[0].last_completed, 4);
  EXPECT_EQ(edge.read.groups[1].last_completed, -1);
  EXPECT_EQ(decoded<ByeMessage>(6, R"({"rank": 1, "exception": "ValueError", "line": -3})").line, 0);
  EXPECT_EQ(decoded<ByeMessage>(6, R"({"rank": 1, "status": 3})").status, 3);
  EXPECT_EQ(decoded<ByeMessage>(6, R"({"rank": 1, "status": 300})").status, std::nullopt);
  EXPECT_EQ(decoded<ByeMessage>(6, R"({"rank": 1})").status, std::nullopt);
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
