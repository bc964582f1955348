#include "trace/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace eroica {
namespace {

std::string reason(int error_number) { return std::generic_category().message(error_number); }

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<size_t> read(std::span<char> into) override {
    while (true) {
      const ssize_t got = ::read(fd_, into.data(), into.size());
      if (got >= 0) {
        offset_ += static_cast<uint64_t>(got);
        return static_cast<size_t>(got);
      }
      if (errno != EINTR) {
        return Error{Error::Kind::kUnreadable,
                     fmt::format("{}: reading failed at byte {}: {}", path_, offset_, reason(errno))};
      }
    }
  }

 private:
  int fd_;
  std::string path_;
  uint64_t offset_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string_view bytes, size_t max_read) : rest_(bytes), max_read_(max_read) {}

  Result<size_t> read(std::span<char> into) override {
    const size_t count = std::min({into.size(), rest_.size(), max_read_});
    if (count > 0) {
      std::memcpy(into.data(), rest_.data(), count);
      rest_.remove_prefix(count);
    }
    return count;
  }

 private:
  std::string_view rest_;
  size_t max_read_;
};

std::string_view what_it_is(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    const int why = errno;
    if (why == ENOENT || why == ENOTDIR) {
      return Error{Error::Kind::kNotFound, fmt::format("{}: there is no such file", path)};
    }
    if (why == ELOOP) {
      return Error{Error::Kind::kUnreadable, fmt::format("{}: its symbolic links form a loop", path)};
    }
    return Error{Error::Kind::kUnreadable, fmt::format("{}: cannot be opened: {}", path, reason(why))};
  }
  auto source = std::make_unique<FileSource>(fd, path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return Error{Error::Kind::kUnreadable, fmt::format("{}: cannot be examined: {}", path, reason(errno))};
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{Error::Kind::kUnreadable,
                 fmt::format("{}: is {}, not a regular file", path, what_it_is(info.st_mode))};
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return std::unique_ptr<ByteSource>(std::move(source));
}

std::unique_ptr<ByteSource> memory_source(std::string_view bytes, size_t max_read) {
  return std::make_unique<MemorySource>(bytes, std::max<size_t>(max_read, 1));
}

}  // namespace eroica
