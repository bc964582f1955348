#include "sample/thread_switches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <rapidcheck/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "base/clocks.h"
#include "sample/perf_switches.h"

namespace eroica::testing {
namespace {

using ::testing::SizeIs;
using Kind = Switch::Kind;

template <typename Value>
std::string bytes(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string record(uint32_t type, uint16_t misc, const std::string& body, uint32_t tid, uint64_t at_ns) {
  const std::string trailer = bytes(std::array<uint32_t, 2>{tid, tid}) + bytes(at_ns) + bytes(uint64_t{3});
  const auto size = static_cast<uint16_t>(sizeof(perf_event_header) + body.size() + trailer.size());
  return bytes(perf_event_header{type, misc, size}) + body + trailer;
}

std::string wide(uint16_t misc, uint32_t other, uint32_t tid, uint64_t at_ns) {
  return record(PERF_RECORD_SWITCH_CPU_WIDE, misc, bytes(std::array<uint32_t, 2>{other, other + 1}), tid, at_ns);
}

constexpr uint16_t kOut = PERF_RECORD_MISC_SWITCH_OUT;
constexpr uint16_t kPreempted = PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

TEST(DecodeSwitches, OfOneThreadAndOfAWholeCpu) {
  std::vector<Switch> found;
  const uint64_t lost = decode_switches(
      record(PERF_RECORD_SWITCH, kOut, "", 7, 100) + record(PERF_RECORD_SWITCH, 0, "", 7, 200) +
          record(PERF_RECORD_LOST, 0, bytes(uint64_t{1}) + bytes(uint64_t{12}), 7, 250) +
          record(PERF_RECORD_THROTTLE, 0, "whatever", 7, 260) + wide(kPreempted, 40, 7, 300) + wide(0, 50, 7, 400),
      found);
  EXPECT_EQ(lost, 12U);
  ASSERT_THAT(found, SizeIs(4));
  const auto expect = [](const Switch& one, int64_t at_ns, Kind kind, pid_t other) {
    EXPECT_EQ(one.at_ns, at_ns);
    EXPECT_EQ(one.kind, kind);
    EXPECT_EQ(one.tid, 7);
    EXPECT_EQ(one.other_pid, other);
  };
  expect(found[0], 100, Kind::kOff, -1);
  expect(found[1], 200, Kind::kOn, -1);
  expect(found[2], 300, Kind::kPreempted, 40);
  expect(found[3], 400, Kind::kOn, 50);
}

RC_GTEST_PROP(DecodeSwitches, DamagedRecordsAreCounted, (const std::string& noise)) {
  const std::string whole = wide(kOut, 40, 7, 300);
  for (size_t length = 1; length < whole.size(); ++length) {
    std::vector<Switch> found;
    RC_ASSERT(decode_switches(whole + whole.substr(0, length), found) >= 1U);
    RC_ASSERT(found.size() == 1U);
  }
  std::vector<Switch> found;
  decode_switches(noise, found);
}

/// Sleeps and works as often as it is told to.
class Sleeper {
 public:
  Sleeper()
      : thread_([this] {
          tid_ = static_cast<pid_t>(syscall(SYS_gettid));
          while (!ends_) std::this_thread::sleep_for(std::chrono::microseconds(200));
        }) {
    while (tid_ == 0) std::this_thread::yield();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    ends_ = true;
    thread_.join();
  }
  [[nodiscard]] pid_t tid() const { return tid_; }

 private:
  std::atomic<pid_t> tid_ = 0;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

void expect_switches(SwitchFeed& feed, pid_t tid) {
  if (!feed.tells_of(tid)) GTEST_SKIP() << feed.problem();
  const int64_t before_ns = monotonic_ns();
  std::vector<Switch> found;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (found.size() < 200 && std::chrono::steady_clock::now() < deadline) {
    EXPECT_TRUE(feed.take(monotonic_ns(), found));
    std::this_thread::yield();
  }
  ASSERT_GE(found.size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(found, {}, &Switch::at_ns));
  EXPECT_LE(found.back().at_ns, monotonic_ns());
  EXPECT_GE(found.back().at_ns, before_ns);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tid, tid);
    const bool was_on = i > 0 ? found[i - 1].kind == Kind::kOn : found[0].kind != Kind::kOn;
    EXPECT_NE(found[i].kind == Kind::kOn, was_on) << i;
  }
  EXPECT_EQ(std::ranges::any_of(found, [](const Switch& one) { return one.other_pid >= 0; }), feed.tells_others());
  EXPECT_EQ(feed.lost(), 0U);
}

TEST(PerfSwitches, OfAThread) {
  const Sleeper sleeper;
  const std::unique_ptr<SwitchFeed> feed = perf_thread_switches({sleeper.tid()});
  EXPECT_FALSE(feed->tells_others());
  EXPECT_FALSE(feed->tells_of(sleeper.tid() + 100'000));
  expect_switches(*feed, sleeper.tid());
}

TEST(PerfSwitches, OfAllCpusWithWhoRanInstead) {
  const Sleeper sleeper;
  const std::unique_ptr<SwitchFeed> feed = perf_switches({sleeper.tid()});
  if (!feed->tells_others()) GTEST_SKIP() << feed->problem();
  expect_switches(*feed, sleeper.tid());
}

TEST(PerfSwitches, OfAThreadThatIsGoneNothing) {
  const std::unique_ptr<SwitchFeed> feed = perf_thread_switches({1 << 25});
  std::vector<Switch> found;
  EXPECT_TRUE(feed->take(monotonic_ns(), found));
  EXPECT_FALSE(feed->tells_of(1 << 25));
}

}  // namespace
}  // namespace eroica::testing
