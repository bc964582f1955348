#include "agent/own_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace eroica {

std::string read_own_file(const std::string& path, int64_t offset, int64_t most_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return "";
  struct stat found {};
  std::string text;
  if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() && found.st_size > offset) {
    text.resize(static_cast<size_t>(std::min<int64_t>(found.st_size - offset, most_bytes)));
    size_t have = 0;
    while (have < text.size()) {
      const ssize_t got = pread(fd, text.data() + have, text.size() - have, offset + static_cast<off_t>(have));
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    text.resize(have);
  }
  close(fd);
  return text;
}

int64_t file_size(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) ? found.st_size : -1;
}

Status write_own_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".new";
  unlink(temporary.c_str());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool written = fd >= 0;
  while (written && !bytes.empty()) {
    const ssize_t size = write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    written = size > 0;
    if (written) bytes.remove_prefix(static_cast<size_t>(size));
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return ok_status();
  const int cause = written ? errno : error;
  if (fd >= 0) unlink(temporary.c_str());
  return Error{Error::Kind::kWrite, fmt::format("{}: {}", path, std::strerror(cause))};
}

}  // namespace eroica
