#include "agent/socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>

namespace eroica {

std::optional<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

std::optional<FileId> file_id(const std::string& path) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return std::nullopt;
  return FileId{file.st_dev, file.st_ino};
}

}  // namespace eroica
