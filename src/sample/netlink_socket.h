#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sample/netlink_text.h"

namespace eroica {

/// A question to the kernel about one network namespace.
class NetlinkSocket {
 public:
  /// `protocol`: NETLINK_SOCK_DIAG, NETLINK_ROUTE. `network`: the file of a namespace, as /proc/PID/ns/net; another one
  /// than this process's own needs the right to enter it. Absent: refused.
  static std::optional<NetlinkSocket> open(int protocol, const std::string& network);
  NetlinkSocket(NetlinkSocket&& other) noexcept;
  NetlinkSocket& operator=(NetlinkSocket&& other) noexcept;
  ~NetlinkSocket();

  /// Sends the request and hands each datagram of the answer to `decode`, until that says that it was the last one or
  /// none comes. False: the kernel refused.
  bool ask(const std::string& request, const std::function<NetlinkNext(std::string_view)>& decode);
  /// The name of an interface of that namespace.
  [[nodiscard]] std::string interface_name(int32_t interface) const;
  /// What the driver of an interface of that namespace counts: names, and their values. Empty: nothing.
  [[nodiscard]] std::vector<std::string> statistics_names(const std::string& interface) const;
  [[nodiscard]] std::vector<uint64_t> statistics(const std::string& interface, size_t count) const;

 private:
  explicit NetlinkSocket(int fd) : fd_(fd) {}

  int fd_ = -1;
  std::string buffer_;
};

}  // namespace eroica
