#include "sample/netlink_socket.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kMostDatagramBytes = size_t{1} << 16;
constexpr int kMostDatagrams = 4096;
constexpr int kPatienceUs = 100'000;
constexpr uint32_t kMostStatistics = 16'384;

int new_socket(int protocol) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  const timeval patience{0, kPatienceUs};
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

bool is_own(const struct stat& network) {
  struct stat own {};
  return stat("/proc/self/ns/net", &own) == 0 && own.st_ino == network.st_ino && own.st_dev == network.st_dev;
}

bool ask_driver(int fd, const std::string& interface, void* question) {
  ifreq wanted{};
  if (interface.size() >= sizeof wanted.ifr_name) return false;
  interface.copy(wanted.ifr_name, interface.size());
  wanted.ifr_data = static_cast<char*>(question);
  return ioctl(fd, SIOCETHTOOL, &wanted) == 0;
}

/// A question with room for the answer behind it, for as many items as it says itself.
template <typename Question>
std::vector<uint64_t> with_room(const Question& question, size_t bytes) {
  std::vector<uint64_t> memory((sizeof question + bytes) / sizeof(uint64_t) + 1);
  std::memcpy(memory.data(), &question, sizeof question);
  return memory;
}

}  // namespace

std::optional<NetlinkSocket> NetlinkSocket::open(int protocol, const std::string& network) {
  struct stat found {};
  if (stat(network.c_str(), &found) != 0) return std::nullopt;
  int fd = -1;
  if (is_own(found)) {
    fd = new_socket(protocol);
  } else {
    // A socket stays in the namespace that it was made in; the thread that enters it ends.
    const int entry = ::open(network.c_str(), O_RDONLY | O_CLOEXEC);
    if (entry < 0) return std::nullopt;
    std::thread([&] {
      if (setns(entry, CLONE_NEWNET) == 0) fd = new_socket(protocol);
    }).join();
    close(entry);
  }
  if (fd < 0) return std::nullopt;
  return NetlinkSocket(fd);
}

NetlinkSocket::NetlinkSocket(NetlinkSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}

NetlinkSocket& NetlinkSocket::operator=(NetlinkSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

NetlinkSocket::~NetlinkSocket() {
  if (fd_ >= 0) close(fd_);
}

bool NetlinkSocket::ask(const std::string& request, const std::function<NetlinkNext(std::string_view)>& decode) {
  if (send(fd_, request.data(), request.size(), MSG_DONTWAIT) != static_cast<ssize_t>(request.size())) return false;
  buffer_.resize(kMostDatagramBytes);
  for (int i = 0; i < kMostDatagrams; ++i) {
    const ssize_t got = recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return false;
    const NetlinkNext next = decode(std::string_view(buffer_.data(), static_cast<size_t>(got)));
    if (next != NetlinkNext::kMore) return next == NetlinkNext::kEnd;
  }
  return true;
}

std::string NetlinkSocket::interface_name(int32_t interface) const {
  ifreq wanted{};
  wanted.ifr_ifindex = interface;
  if (ioctl(fd_, SIOCGIFNAME, &wanted) != 0) return "";
  wanted.ifr_name[IFNAMSIZ - 1] = '\0';
  return wanted.ifr_name;
}

std::vector<std::string> NetlinkSocket::statistics_names(const std::string& interface) const {
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (!ask_driver(fd_, interface, &driver) || driver.n_stats == 0 || driver.n_stats > kMostStatistics) return {};
  ethtool_gstrings question{};
  question.cmd = ETHTOOL_GSTRINGS;
  question.string_set = ETH_SS_STATS;
  question.len = driver.n_stats;
  std::vector<uint64_t> memory = with_room(question, size_t{driver.n_stats} * ETH_GSTRING_LEN);
  if (!ask_driver(fd_, interface, memory.data())) return {};
  std::vector<std::string> names;
  const char* text = reinterpret_cast<const char*>(memory.data()) + sizeof question;
  for (size_t i = 0; i < driver.n_stats; ++i, text += ETH_GSTRING_LEN) {
    names.emplace_back(text, strnlen(text, ETH_GSTRING_LEN));
  }
  return names;
}

std::vector<uint64_t> NetlinkSocket::statistics(const std::string& interface, size_t count) const {
  ethtool_stats question{};
  question.cmd = ETHTOOL_GSTATS;
  question.n_stats = static_cast<uint32_t>(count);
  std::vector<uint64_t> memory = with_room(question, count * sizeof(uint64_t));
  if (!ask_driver(fd_, interface, memory.data())) return {};
  std::memcpy(&question, memory.data(), sizeof question);
  std::vector<uint64_t> values(std::min<size_t>(question.n_stats, count));
  if (!values.empty()) {
    std::memcpy(values.data(), reinterpret_cast<const char*>(memory.data()) + sizeof question,
                values.size() * sizeof(uint64_t));
  }
  return values;
}

}  // namespace eroica
