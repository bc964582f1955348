#include "agent/control_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/clocks.h"

namespace eroica {
namespace {

constexpr int kBacklog = 16;
constexpr int kLookEveryMs = 2000;
constexpr size_t kMostClients = 32;
constexpr int64_t kMostIdleNs = 10'000'000'000;

bool may_ask(int client) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::make(const std::string& path, Answer answer) {
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return Error{Error::Kind::kWrite, fmt::format("eventfd: {}", std::strerror(errno))};
  std::unique_ptr<ControlServer> server(new ControlServer(path, std::move(answer), wake));
  if (Status bound = server->listen(); !bound) return bound.error();
  return server;
}

Status ControlServer::listen() {
  const auto failed = [this] {
    Error error{Error::Kind::kWrite, fmt::format("{}: {}", path_, std::strerror(errno))};
    if (listener_ >= 0) close(std::exchange(listener_, -1));  // what is bound to nothing would never let poll() wait
    return error;
  };
  const std::optional<sockaddr_un> address = socket_address(path_);
  if (!address) return Error{Error::Kind::kInvalid, path_ + ": too long for a socket's path"};
  if (listener_ >= 0) close(listener_);
  listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener_ < 0) return failed();
  unlink(path_.c_str());
  // Nobody can connect before listen(), so that the mode is right from the beginning.
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      chmod(path_.c_str(), 0600) != 0 || ::listen(listener_, kBacklog) != 0) {
    return failed();
  }
  const std::optional<FileId> file = file_id(path_);
  if (!file) return failed();
  file_ = *file;
  return ok_status();
}

void ControlServer::start() {
  thread_ = std::thread([this] { run(); });
}

void ControlServer::stop() {
  if (thread_.joinable()) {
    stopping_ = true;
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof one);
    thread_.join();
  }
  if (listener_ >= 0) close(std::exchange(listener_, -1));
  if (wake_ >= 0) close(std::exchange(wake_, -1));
}

/// False when there is nothing more to be had of the client.
bool ControlServer::serve(int client) const {
  std::array<char, kMostRequestBytes + 1> buffer{};
  const ssize_t size = recv(client, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
  const std::optional<ControlRequest> request = decode_request({buffer.data(), static_cast<size_t>(size)});
  const std::string answer = request ? answer_(*request) : encode_refusal("this is no request");
  return send(client, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 && request.has_value();
}

void ControlServer::run() {
  struct Client {
    int fd;
    int64_t heard_ns;
  };
  std::deque<Client> clients;
  while (!stopping_) {
    std::vector<pollfd> waits = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Client& client : clients) waits.push_back({client.fd, POLLIN, 0});
    poll(waits.data(), waits.size(), kLookEveryMs);
    if (file_id(path_) != file_) (void)listen();  // where its folder is gone: the next time
    const int64_t now_ns = monotonic_ns();
    std::deque<Client> kept;
    for (size_t i = 0; i < clients.size(); ++i) {
      Client& client = clients[i];
      bool stays = now_ns - client.heard_ns < kMostIdleNs;
      if (waits[i + 2].revents != 0) {
        stays = serve(client.fd);
        client.heard_ns = now_ns;
      }
      if (stays) {
        kept.push_back(client);
      } else {
        close(client.fd);
      }
    }
    clients = std::move(kept);
    if ((waits[1].revents & POLLIN) == 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (!may_ask(fd)) {
      close(fd);
      continue;
    }
    if (clients.size() >= kMostClients) {  // the one that has waited longest has had its time
      close(clients.front().fd);
      clients.pop_front();
    }
    clients.push_back({fd, now_ns});
  }
  for (const Client& client : clients) close(client.fd);
}

Result<std::string> ask_control(const std::string& path, const ControlRequest& request, double deadline_s) {
  const std::optional<sockaddr_un> address = socket_address(path);
  if (!address) return Error{Error::Kind::kNotFound, path + ": too long for a socket's path"};
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error{Error::Kind::kUnreadable, fmt::format("socket: {}", std::strerror(errno))};
  const auto done = [fd](Result<std::string> result) {
    close(fd);
    return result;
  };
  if (connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    const bool nobody = errno == ECONNREFUSED || errno == ENOENT;
    return done(Error{nobody ? Error::Kind::kNotFound : Error::Kind::kUnreadable,
                      fmt::format("{}: {}", path, std::strerror(errno))});
  }
  const std::string packet = encode_request(request);
  if (send(fd, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    return done(Error{Error::Kind::kUnreadable, fmt::format("{}: {}", path, std::strerror(errno))});
  }
  pollfd wait{fd, POLLIN, 0};
  if (poll(&wait, 1, static_cast<int>(std::ceil(deadline_s * 1e3))) <= 0) {
    return done(Error{Error::Kind::kUnreadable, path + ": no answer in time"});
  }
  std::string answer(kMostAnswerBytes, '\0');
  const ssize_t size = recv(fd, answer.data(), answer.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (size <= 0 || static_cast<size_t>(size) > answer.size()) {
    return done(Error{Error::Kind::kUnreadable, path + ": no answer (another user's job?)"});
  }
  answer.resize(static_cast<size_t>(size));
  return done(std::move(answer));
}

}  // namespace eroica
