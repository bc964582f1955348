#include "agent/datagram_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace eroica {
namespace {

std::string path_of(const sockaddr_un& address, socklen_t size) {
  constexpr size_t kFront = offsetof(sockaddr_un, sun_path);
  if (size <= kFront || address.sun_path[0] == '\0') return "";
  return {address.sun_path, strnlen(address.sun_path, size - kFront)};
}

}  // namespace

Result<DatagramSocket> DatagramSocket::bind(const std::string& path, size_t most_bytes) {
  const auto failed = [&] { return Error{Error::Kind::kWrite, fmt::format("{}: {}", path, std::strerror(errno))}; };
  const std::optional<sockaddr_un> address = socket_address(path);
  if (!address) {
    return Error{Error::Kind::kInvalid, fmt::format("{}: too long for a socket's path", path)};
  }
  DatagramSocket result(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), most_bytes);
  if (result.fd_ < 0) return failed();
  unlink(path.c_str());
  if (::bind(result.fd_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) return failed();
  const int on = 1;
  if (setsockopt(result.fd_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return failed();
  const std::optional<FileId> file = file_id(path);
  if (!file) return failed();
  result.path_ = path;
  result.file_ = *file;
  return result;
}

bool DatagramSocket::has_its_name() const { return file_id(path_) == file_; }

DatagramSocket::DatagramSocket(DatagramSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      file_(other.file_),
      buffer_(std::move(other.buffer_)) {}

DatagramSocket& DatagramSocket::operator=(DatagramSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  path_.swap(other.path_);
  std::swap(file_, other.file_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

DatagramSocket::~DatagramSocket() {
  if (fd_ >= 0) close(fd_);
}

bool DatagramSocket::receive(Datagram& datagram) {
  while (true) {
    sockaddr_un address{};
    iovec part{buffer_.data(), buffer_.size()};
    alignas(cmsghdr) std::array<char, 256> control{};
    msghdr message{};
    message.msg_name = &address;
    message.msg_namelen = sizeof address;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
    if (size < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    datagram.pid = -1;
    datagram.uid = static_cast<uid_t>(-1);
    datagram.attached = {};
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr; part_of = CMSG_NXTHDR(&message, part_of)) {
      if (part_of->cmsg_level != SOL_SOCKET) continue;
      if (part_of->cmsg_type == SCM_CREDENTIALS) {
        ucred sender{};
        std::memcpy(&sender, CMSG_DATA(part_of), sizeof sender);
        datagram.pid = sender.pid;
        datagram.uid = sender.uid;
      } else if (part_of->cmsg_type == SCM_RIGHTS) {
        const size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
          int sent = -1;
          std::memcpy(&sent, CMSG_DATA(part_of) + i * sizeof sent, sizeof sent);
          datagram.attached = Descriptor(sent);  // ours send one at most
        }
      }
    }
    if ((message.msg_flags & MSG_TRUNC) != 0) continue;
    datagram.bytes = {buffer_.data(), static_cast<size_t>(size)};
    datagram.sender = path_of(address, message.msg_namelen);
    return true;
  }
}

int DatagramSocket::send(const std::string& path, std::string_view bytes) const {
  const std::optional<sockaddr_un> address = socket_address(path);
  if (!address) return ENAMETOOLONG;
  const ssize_t sent = sendto(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  return sent < 0 ? errno : 0;
}

}  // namespace eroica
