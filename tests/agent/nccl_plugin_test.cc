// The plugin for NCCL in a process that drives it (tests/nccl), and what the agent makes of its ring.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "agent/datagram_socket.h"
#include "agent/nccl_ring.h"
#include "agent/probe_message.h"
#include "base/clocks.h"

namespace eroica::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kChannels = 2;

/// A program that drives the plugin.
class HostProgram {
 public:
  HostProgram(int version, int threads, int collectives, const std::string& scenario) {
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    std::vector<std::string> words = {EROICA_NCCL_HOST_PROGRAM, EROICA_NCCL_PLUGIN,          std::to_string(version),
                                      std::to_string(threads),  std::to_string(collectives), scenario};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;
  ~HostProgram() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    (void)end();
  }

  /// The next line; empty: it has ended.
  std::string line() {
    std::string text;
    char c = 0;
    while (read(from_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
  void go_on() const { ASSERT_EQ(write(to_, "\n", 1), 1); }
  /// Its exit status.
  int end() {
    if (to_ >= 0) close(to_);
    if (from_ >= 0) close(from_);
    to_ = from_ = -1;
    int status = -1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

/// A job's folder.
class NcclPlugin : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    folder_ = "/tmp/eroica-nccl-XXXXXX";  // a socket's path is short
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    setenv("EROICA_SOCKET_DIR", folder_.c_str(), 1);
    setenv("RANK", "3", 1);
    Result<DatagramSocket> bound = DatagramSocket::bind(folder_ + "/probe", kMostProbeBytes);
    ASSERT_TRUE(bound);
    socket_.emplace(std::move(bound.value()));
  }
  void TearDown() override {
    unsetenv("EROICA_SOCKET_DIR");
    unsetenv("RANK");
    fs::remove_all(folder_);
  }

  [[nodiscard]] std::string owner() const {
    const std::vector<std::string> owners = nccl_plugins_in(folder_);
    return owners.size() == 1 ? owners.front() : "";
  }
  void ask(int64_t start_ns, int64_t end_ns) const {
    ASSERT_EQ(socket_->send(nccl_socket_in(folder_, owner()), encode_nccl_request(start_ns, end_ns)), 0);
  }
  [[nodiscard]] NcclWindow window() const {
    return read_nccl_ring(nccl_ring_in(folder_, owner())).value_or(NcclWindow());
  }
  /// Waits for the plugin's thread to begin the n-th window.
  [[nodiscard]] bool begins(uint64_t epoch) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (window().epoch != epoch) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::string folder_;
  std::optional<DatagramSocket> socket_;
};

std::string text(const auto& array) { return {array.data(), strnlen(array.data(), array.size())}; }

/// All of `collectives` of each communicator are there with their parts, once.
void expect_all(const NcclWindow& window, int communicators, int collectives) {
  std::map<std::tuple<uint64_t, nccl::Kind, uint64_t, int>, int> seen;
  for (const nccl::Record& record : window.records) {
    if (record.peer == 6 || record.channel == 9) continue;
    ++seen[{record.communicator, record.kind, record.sequence, record.channel}];
    EXPECT_EQ(text(record.function), "AllReduce");
    if (record.kind == nccl::Kind::kCollective) {
      EXPECT_EQ(text(record.datatype), "Bfloat16");
      EXPECT_EQ(text(record.algorithm), "RING");
      EXPECT_EQ(text(record.protocol), "SIMPLE");
      EXPECT_EQ(record.count, 1024U);
      EXPECT_EQ(record.channels, kChannels);
    } else if (record.kind == nccl::Kind::kChannel) {
      EXPECT_EQ(record.duration_ns, 1'000);
      EXPECT_EQ(record.flags & nccl::kHostTime, 0);
    } else {
      EXPECT_EQ(record.kind, nccl::Kind::kProxyOperation);
      EXPECT_EQ(record.peer, 5);
      EXPECT_EQ(record.count, 2048U);
      EXPECT_EQ(record.flags, nccl::kSends);
    }
  }
  EXPECT_THAT(seen, SizeIs(static_cast<size_t>(communicators * collectives * (1 + 2 * kChannels))));
  for (const auto& [key, count] : seen) EXPECT_EQ(count, 1);
  for (int i = 0; i < communicators; ++i) {
    for (int k = 0; k < collectives; ++k) {
      const auto hash = static_cast<uint64_t>(1000 + i);
      const auto sequence = static_cast<uint64_t>(k);
      EXPECT_TRUE(seen.contains({hash, nccl::Kind::kCollective, sequence, 0}));
      for (int channel = 0; channel < kChannels; ++channel) {
        EXPECT_TRUE(seen.contains({hash, nccl::Kind::kChannel, sequence, channel}));
        EXPECT_TRUE(seen.contains({hash, nccl::Kind::kProxyOperation, sequence, channel}));
      }
    }
  }
}

TEST_P(NcclPlugin, RecordsAWindowFromSeveralThreads) {
  HostProgram program(GetParam(), 4, 500, "window");
  ASSERT_EQ(program.line(), "off");
  EXPECT_EQ(owner(), fmt::format("{}-{}", program.pid(), owner().substr(owner().find('-') + 1)));
  const int64_t before_ns = unix_ns();
  ask(before_ns, before_ns + 600 * kSecond);
  ASSERT_EQ(program.line(), "done");
  const NcclWindow found = window();
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.lost, 0U);
  EXPECT_EQ(found.damaged, 0U);
  ASSERT_THAT(found.communicators, SizeIs(4));
  EXPECT_EQ(text(found.communicators[0].name), "data parallel");
  EXPECT_EQ(found.communicators[0].ranks, 8);
  EXPECT_EQ(found.communicators[0].rank, 3);
  expect_all(found, 4, 500);
  size_t sends = 0;
  for (const nccl::Record& record : found.records) {
    EXPECT_GE(record.start_unix_ns, before_ns);
    EXPECT_LE(record.start_unix_ns + record.duration_ns, unix_ns());
    if (record.kind == nccl::Kind::kPointToPoint) {
      ++sends;
      EXPECT_EQ(text(record.function), "Send");
      EXPECT_EQ(record.peer, 6);
      EXPECT_EQ(record.sequence, nccl::kNoSequence);
    }
    if (record.channel == 9) {  // its parent is a handle of another process
      EXPECT_EQ(record.flags, nccl::kStrangerOp);
      EXPECT_EQ(record.sequence, nccl::kNoSequence);
      EXPECT_EQ(text(record.function), "");
    }
  }
  EXPECT_EQ(sends, 1U);
  const std::string files = owner();
  program.go_on();
  EXPECT_EQ(program.end(), 0);
  EXPECT_FALSE(fs::exists(nccl_socket_in(folder_, files)));
  EXPECT_FALSE(fs::exists(nccl_ring_in(folder_, files)));
}

TEST_P(NcclPlugin, NothingIsRecordedWithoutAWindow) {
  HostProgram program(GetParam(), 2, 50, "inactive");
  ASSERT_EQ(program.line(), "off");
  ASSERT_EQ(program.line(), "done");
  EXPECT_THAT(window().records, IsEmpty());
  EXPECT_EQ(window().rank, 3);
  program.go_on();
  EXPECT_EQ(program.end(), 0);
}

TEST_P(NcclPlugin, OutsideOfAJobItDoesNothing) {
  unsetenv("EROICA_SOCKET_DIR");
  HostProgram program(GetParam(), 2, 50, "inactive");
  ASSERT_EQ(program.line(), "off");
  ASSERT_EQ(program.line(), "done");
  EXPECT_THAT(nccl_plugins_in(folder_), IsEmpty());
  program.go_on();
  EXPECT_EQ(program.end(), 0);
}

TEST_P(NcclPlugin, CallbacksThatComeLateDoNothing) {
  HostProgram program(GetParam(), 3, 200, "late");
  ASSERT_EQ(program.line(), "off");
  ask(unix_ns(), unix_ns() + 600 * kSecond);
  ASSERT_EQ(program.line(), "held");
  ask(unix_ns(), unix_ns() + 600 * kSecond);
  ASSERT_TRUE(begins(2));
  program.go_on();
  ASSERT_EQ(program.line(), "done");
  const NcclWindow found = window();
  EXPECT_EQ(found.damaged, 0U);
  for (const nccl::Record& record : found.records) EXPECT_NE(record.sequence, 7'000'000U);
  NcclWindow own = found;
  std::erase_if(own.records, [](const nccl::Record& record) { return record.sequence == 1'000'000U; });
  expect_all(own, 3, 200);
  program.go_on();
  EXPECT_EQ(program.end(), 0);
}

TEST_P(NcclPlugin, AStepOfTheSystemsClockMovesNothing) {
  HostProgram program(GetParam(), 2, 50, "step");
  ASSERT_EQ(program.line(), "off");
  const int64_t before_ns = unix_ns();
  ask(before_ns, before_ns + 2 * kSecond);
  ASSERT_EQ(program.line(), "done");  // the window has ended although the system's clock is an hour back
  const NcclWindow found = window();
  expect_all(found, 2, 50);
  for (const nccl::Record& record : found.records) {
    EXPECT_GE(record.start_unix_ns, before_ns);
    EXPECT_LE(record.start_unix_ns + record.duration_ns, unix_ns());
  }
  program.go_on();
  EXPECT_EQ(program.end(), 0);
}

TEST_P(NcclPlugin, MoreThanTheRingHolds) {
  constexpr int kCollectives = 14'000;
  HostProgram program(GetParam(), 2, kCollectives, "window");
  ASSERT_EQ(program.line(), "off");
  ask(unix_ns(), unix_ns() + 600 * kSecond);
  ASSERT_EQ(program.line(), "done");
  const NcclWindow found = window();
  EXPECT_THAT(found.records, SizeIs(nccl::kMostRecords));
  EXPECT_EQ(found.damaged, 0U);
  // One send and one operation of a stranger besides.
  EXPECT_EQ(found.lost, 2U * kCollectives * (1 + 2 * kChannels) + 2 - nccl::kMostRecords);
  program.go_on();
  EXPECT_EQ(program.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, NcclPlugin, ::testing::Values(4, 5));

TEST(NcclRing, OtherFilesAreNone) {
  const std::string path = ::testing::TempDir() + "/ncclring-none";
  EXPECT_FALSE(read_nccl_ring(path));
  std::ofstream(path) << "EROICAN1";
  EXPECT_FALSE(read_nccl_ring(path));
  std::ofstream(path) << std::string(nccl::kRecordsAt, 'x');
  EXPECT_FALSE(read_nccl_ring(path));
  fs::remove(path);
}

TEST(NcclRing, WhatDoesNotHoldIsCounted) {
  nccl::Header header{.magic = nccl::kMagic, .rank = 1, .epoch = 5, .taken = ~uint64_t{0}};
  nccl::Record good{.epoch = 5, .kind = nccl::Kind::kChannel, .duration_ns = 7};
  good.check = check_of(good);
  nccl::Record bad = good;
  bad.duration_ns = 8;
  nccl::Record old = good;
  old.epoch = 4;
  old.check = check_of(old);
  nccl::Record odd = good;
  odd.kind = static_cast<nccl::Kind>(77);
  odd.check = check_of(odd);
  std::string bytes(nccl::kRecordsAt, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  for (const nccl::Record& record : {good, bad, old, odd}) {
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  bytes += "half a record";
  const std::string path = ::testing::TempDir() + "/ncclring-odd";
  std::ofstream(path, std::ios::binary) << bytes;
  const std::optional<NcclWindow> window = read_nccl_ring(path);
  ASSERT_TRUE(window);
  EXPECT_THAT(window->records, SizeIs(1));
  EXPECT_EQ(window->damaged, 3U);
  fs::remove(path);
}

TEST(NcclRing, AsATrace) {
  NcclWindow window;
  nccl::Communicator group{.hash = 0xabc, .name = {'t', 'p'}};
  window.communicators = {group};
  nccl::Record call{.kind = nccl::Kind::kCollective,
                    .channels = 2,
                    .function = {'A', 'l', 'l', '"'},
                    .datatype = {'F', 'l', 'o', 'a', 't'},
                    .communicator = 0xabc,
                    .sequence = 12,
                    .count = 99,
                    .start_unix_ns = 1'790'000'000'000'002'500,
                    .duration_ns = 1'500};
  nccl::Record proxy = call;
  proxy.kind = nccl::Kind::kProxyOperation;
  proxy.channel = 1;
  proxy.flags = nccl::kSends;
  proxy.peer = 4;
  window.records = {proxy, call};
  EXPECT_EQ(
      nccl_trace_json(window, 3),
      R"({"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790000000000000000, "traceEvents": [
{"ph":"M","name":"thread_name","pid":"rank 3","tid":0,"args":{"name":"NCCL calls"}},
{"ph":"M","name":"thread_name","pid":"rank 3","tid":2003,"args":{"name":"NCCL proxy, channel 1, sends"}},
{"ph":"X","cat":"nccl_proxy","name":"All\"","pid":"rank 3","tid":2003,"ts":2.5,"dur":1.5,"args":{"communicator":"0xabc","group":"tp","sequence":12,"bytes_at_most":99,"peer":4}},
{"ph":"X","cat":"nccl_collective","name":"All\"","pid":"rank 3","tid":0,"ts":2.5,"dur":1.5,"args":{"communicator":"0xabc","group":"tp","sequence":12,"count":99,"datatype":"Float","channels":2}}
]}
)");
}

}  // namespace
}  // namespace eroica::testing
