#include "agent/control_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

namespace eroica::testing {
namespace {

constexpr double kDeadlineS = 30;

class ControlSocket : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/eroica-test-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    Result<std::unique_ptr<ControlServer>> made =
        ControlServer::make(path_(), [](const ControlRequest& request) { return "got " + encode_request(request); });
    ASSERT_TRUE(made.ok()) << made.error().message;
    server_ = std::move(*made);
    server_->start();
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string path_() const { return folder_ + "/control"; }
  [[nodiscard]] int connected() const {
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_().data(), path_().size());
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval deadline{static_cast<time_t>(kDeadlineS), 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
    return fd;
  }

  std::string folder_;
  std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlSocket, AnswersWhoeverAsks) {
  const Result<std::string> answer = ask_control(path_(), {ControlRequest::Kind::kTrigger, 2, "why"}, kDeadlineS);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(*answer, R"(got {"do":"trigger","window_s":2.0,"reason":"why"})");
}

TEST_F(ControlSocket, IsItsOwnersAlone) {
  struct stat found {};
  ASSERT_EQ(stat(path_().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST_F(ControlSocket, NobodyListensWhereThereIsNone) {
  EXPECT_EQ(ask_control(folder_ + "/none", {}, kDeadlineS).error().kind, Error::Kind::kNotFound);
  server_->stop();
  EXPECT_EQ(ask_control(path_(), {}, kDeadlineS).error().kind, Error::Kind::kNotFound);
}

TEST_F(ControlSocket, GarbageAndSilenceHoldNobodyUp) {
  std::vector<int> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connected());
  const int garbage = connected();
  const std::string bytes(20'000, '\xff');
  ASSERT_EQ(send(garbage, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  std::string answer(1000, '\0');
  const ssize_t size = recv(garbage, answer.data(), answer.size(), 0);
  ASSERT_GT(size, 0);
  EXPECT_EQ(answer.substr(0, static_cast<size_t>(size)), encode_refusal("this is no request"));
  EXPECT_EQ(recv(garbage, answer.data(), answer.size(), 0), 0);  // and is sent away
  close(garbage);
  EXPECT_TRUE(ask_control(path_(), {}, kDeadlineS).ok());
  for (const int fd : silent) close(fd);
}

TEST_F(ControlSocket, ARemovedSocketComesBack) {
  std::filesystem::remove(path_());
  Result<std::string> answer = ask_control(path_(), {}, kDeadlineS);
  for (int i = 0; i < 300 && !answer.ok(); ++i) {
    usleep(100'000);
    answer = ask_control(path_(), {}, kDeadlineS);
  }
  EXPECT_TRUE(answer.ok());
}

}  // namespace
}  // namespace eroica::testing
