#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/socket_file.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace eroica {

/// What came in, and who sent it as the kernel knows.
struct Datagram {
  std::string_view bytes;  ///< until the next receive()
  std::string sender;      ///< the path that its socket is bound to; empty: none
  pid_t pid = -1;
  uid_t uid = static_cast<uid_t>(-1);
  Descriptor attached;  ///< an open file that came with it
};

/// A bound AF_UNIX datagram socket that tells who sends. Never waits.
class DatagramSocket {
 public:
  /// Binds a new socket to the path, in place of what an earlier one left there. Error kWrite.
  static Result<DatagramSocket> bind(const std::string& path, size_t most_bytes);
  DatagramSocket(DatagramSocket&& other) noexcept;
  DatagramSocket& operator=(DatagramSocket&& other) noexcept;
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;
  ~DatagramSocket();

  [[nodiscard]] int fd() const { return fd_; }
  /// False: somebody removed or replaced its file, and nobody finds it any more.
  [[nodiscard]] bool has_its_name() const;
  /// False when there is nothing more. One that did not fit is passed over.
  bool receive(Datagram& datagram);
  /// 0, or the errno.
  [[nodiscard]] int send(const std::string& path, std::string_view bytes) const;

 private:
  DatagramSocket(int fd, size_t most_bytes) : fd_(fd), buffer_(most_bytes + 1) {}
  int fd_ = -1;
  std::string path_;
  FileId file_;
  std::vector<char> buffer_;
};

}  // namespace eroica
