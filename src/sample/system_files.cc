#include "sample/system_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr size_t kMostKeptBytes = 4096;
constexpr size_t kMostNames = 1 << 16;

int open_to_read(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }

}  // namespace

bool SystemFiles::read(const std::string& path, std::string& into) const {
  into.clear();
  const int fd = open_to_read(root_ + path);
  if (fd < 0) return false;
  std::array<char, 16384> block;
  ssize_t got = 0;
  while (into.size() < kMostBytes && (got = ::read(fd, block.data(), block.size())) > 0) {
    into.append(block.data(), static_cast<size_t>(got));
  }
  close(fd);
  return got >= 0;
}

std::string SystemFiles::read(const std::string& path) const {
  std::string text;
  if (!read(path, text)) text.clear();
  return text;
}

bool SystemFiles::exists(const std::string& path) const { return access((root_ + path).c_str(), F_OK) == 0; }

std::vector<std::string> SystemFiles::list(const std::string& folder) const {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir((root_ + folder).c_str()), closedir);
  if (!open_folder) return names;
  while (const dirent* entry = readdir(open_folder.get())) {
    if (entry->d_name[0] == '.') continue;
    names.emplace_back(entry->d_name);
    if (names.size() >= kMostNames) break;
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string SystemFiles::link(const std::string& path) const {
  std::array<char, 4096> target;
  const ssize_t length = readlink((root_ + path).c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<size_t>(length)) : std::string();
}

KeptFile::KeptFile(KeptFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

KeptFile::~KeptFile() {
  if (fd_ >= 0) close(fd_);
}

bool KeptFile::read(std::string& into) {
  if (fd_ < 0) fd_ = open_to_read(path_);
  into.resize(kMostKeptBytes);
  const ssize_t got = fd_ < 0 ? -1 : pread(fd_, into.data(), into.size(), 0);
  into.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return got > 0;
}

}  // namespace eroica
