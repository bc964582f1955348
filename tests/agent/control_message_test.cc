#include "agent/control_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica::testing {
namespace {

TEST(ControlMessage, RequestsComeBackAsTheyWere) {
  const std::optional<ControlRequest> status = decode_request(encode_request({}));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->kind, ControlRequest::Kind::kStatus);

  const std::optional<ControlRequest> trigger =
      decode_request(encode_request({ControlRequest::Kind::kTrigger, 2.5, "why \"not\"\n"}));
  ASSERT_TRUE(trigger);
  EXPECT_EQ(trigger->kind, ControlRequest::Kind::kTrigger);
  EXPECT_EQ(trigger->window_s, 2.5);
  EXPECT_EQ(trigger->reason, "why \"not\"\n");
  EXPECT_FALSE(decode_request(encode_request({ControlRequest::Kind::kTrigger, std::nullopt, ""}))->window_s);
}

TEST(ControlMessage, WhatIsNoRequestIsRefused) {
  for (const std::string packet :
       {"", "{", "[]", "17", "null", "{}", R"({"do":7})", R"({"do":"dance"})", R"({"do":"trigger","window_s":"long"})",
        R"({"do":"trigger","window_s":-1})", R"({"do":"trigger","window_s":1e300})",
        R"({"do":"trigger","window_s":null})", "\xff\xfe"}) {
    EXPECT_FALSE(decode_request(packet)) << packet;
  }
  EXPECT_FALSE(decode_request(R"({"do":"status","x":")" + std::string(kMostRequestBytes, 'x') + "\"}"));
}

TEST(ControlMessage, AReasonIsCut) {
  const std::string packet = R"({"do":"trigger","reason":")" + std::string(1000, 'r') + "\"}";
  EXPECT_EQ(decode_request(packet)->reason, std::string(200, 'r'));
}

TEST(ControlMessage, AnswersToTriggers) {
  const std::optional<TriggerAnswer> taken =
      decode_trigger_answer(encode_answer(TriggerAnswer{"", "window-3", 4.5, 3, 8}));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->window, "window-3");
  EXPECT_EQ(taken->begins_in_s, 4.5);
  EXPECT_EQ(taken->length_s, 3);
  EXPECT_EQ(taken->ranks, 8);
  EXPECT_EQ(decode_trigger_answer(encode_answer(TriggerAnswer{"no rank is there", "", 0, 0, 0}))->refused,
            "no rank is there");
  EXPECT_FALSE(decode_trigger_answer("{}"));
  EXPECT_FALSE(decode_trigger_answer(R"({"ok":true})"));
}

TEST(ControlMessage, AStatusComesBackAsItWas) {
  JobStatus status;
  status.job = "job7";
  status.watcher = "agent";
  status.watcher_pid = 12;
  status.folder = "/tmp/eroica-job-abc";
  status.since_unix_ns = 1'790'000'000'000'000'001;
  status.state = JobState::kSlow;
  status.ranks = 8;
  status.world_size = 16;
  status.hosts = 1;
  status.step = 1234;
  status.step_ms = 112.5;
  status.best_ms = 100.25;
  status.window = "window-2";
  status.stage = WindowStage::kCollecting;
  status.windows = 1;
  status.profiled_s = 3;
  status.interference_ms = 412.5;
  status.cost = {17.5, 0.125, -1};
  status.dropped = 4;
  status.refused = 5;
  status.diagnoses = 2;
  status.last_window = {"window-1", "a rank is throttled", "/tmp/x/window-1.json", true};
  status.last_diagnosis = {1'790'000'000'000'000'000, "cpu.cgroup_throttle", "throttled \xff", {2, 3}};

  const std::optional<JobStatus> back = decode_status(encode_answer(status));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->job, status.job);
  EXPECT_EQ(back->watcher, status.watcher);
  EXPECT_EQ(back->watcher_pid, status.watcher_pid);
  EXPECT_EQ(back->folder, status.folder);
  EXPECT_EQ(back->since_unix_ns, status.since_unix_ns);
  EXPECT_EQ(back->state, status.state);
  EXPECT_EQ(back->ranks, status.ranks);
  EXPECT_EQ(back->world_size, status.world_size);
  EXPECT_EQ(back->step, status.step);
  EXPECT_EQ(back->step_ms, status.step_ms);
  EXPECT_EQ(back->best_ms, status.best_ms);
  EXPECT_EQ(back->window, status.window);
  EXPECT_EQ(back->stage, status.stage);
  EXPECT_EQ(back->windows, status.windows);
  EXPECT_EQ(back->interference_ms, status.interference_ms);
  EXPECT_EQ(back->cost.probe_us_per_step, 17.5);
  EXPECT_EQ(back->cost.probe_percent, 0.125);
  EXPECT_EQ(back->cost.watcher_percent, -1);
  EXPECT_EQ(back->dropped, status.dropped);
  EXPECT_EQ(back->refused, status.refused);
  EXPECT_EQ(back->diagnoses, status.diagnoses);
  EXPECT_EQ(back->last_window.id, "window-1");
  EXPECT_TRUE(back->last_window.claims);
  EXPECT_EQ(back->last_diagnosis.cause, "cpu.cgroup_throttle");
  EXPECT_EQ(back->last_diagnosis.ranks, (std::vector<int32_t>{2, 3}));
}

TEST(ControlMessage, AStatusFitsItsPacketWhateverIsInIt) {
  JobStatus status;
  status.job = std::string(200, '\x01');
  status.last_window = {"window-1", std::string(100'000, '\x02'), std::string(200, 'p'), true};
  status.last_diagnosis = {1, "cause", std::string(100'000, '\x03'), std::vector<int32_t>(100'000, 9'999'999)};
  EXPECT_LE(encode_answer(status).size(), kMostAnswerBytes);
}

TEST(ControlMessage, AForeignAnswerDoesNoHarm) {
  EXPECT_FALSE(decode_status(R"({"ok":true})"));
  EXPECT_FALSE(decode_status(R"({"ok":false,"job":"j"})"));
  const std::optional<JobStatus> odd = decode_status(
      R"({"ok":true,"job":"j","ranks":"many","step":1e400,"window":[],"last_diagnosis":{"unix_ns":1,"ranks":[-1,"x",3]}})");
  if (odd) {
    EXPECT_EQ(odd->ranks, 0);
    EXPECT_THAT(odd->last_diagnosis.ranks, ::testing::ElementsAre(3));
  }
}

}  // namespace
}  // namespace eroica::testing
