#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace eroica {
namespace {

Error write_error(const std::string& path, int code) {
  return {Error::Kind::kWrite, fmt::format("{}: cannot be written: {}", path, std::strerror(code))};
}

/// 0, or errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

/// 0, or errno; a delayed write error shows here at the latest.
int sync_and_close(int fd) {
  int code = ::fsync(fd) != 0 && errno != EINVAL && errno != EROFS ? errno : 0;
  if (::close(fd) != 0 && code == 0 && errno != EINTR) code = errno;
  return code;
}

// While a temporary file exists, a signal that ends the process removes it first. Handlers reach nothing but globals.
constexpr std::array kEndingSignals{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
std::array<char, PATH_MAX> guarded_path{};  // empty: none
std::array<struct sigaction, kEndingSignals.size()> former_actions{};

/// Runs with the signal blocked and its action reset: it is raised anew and ends the process once this returns.
void remove_and_die(int signal) {
  (void)::unlink(guarded_path.data());
  (void)::raise(signal);
}

/// One file at a time; to be called before it is made, so that no signal comes in between.
void guard(const std::string& temporary) {
  if (guarded_path[0] != '\0' || temporary.size() >= guarded_path.size()) return;
  std::ranges::copy(temporary, guarded_path.begin());
  guarded_path[temporary.size()] = '\0';
  struct sigaction action {};
  action.sa_handler = remove_and_die;
  action.sa_flags = SA_RESETHAND;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    (void)::sigaction(kEndingSignals[i], nullptr, &former_actions[i]);
    if (former_actions[i].sa_handler != SIG_IGN) (void)::sigaction(kEndingSignals[i], &action, nullptr);
  }
}

/// Once it was renamed or removed.
void unguard(const std::string& temporary) {
  if (temporary.empty() || temporary != guarded_path.data()) return;
  for (size_t i = 0; i < kEndingSignals.size(); ++i) {
    (void)::sigaction(kEndingSignals[i], &former_actions[i], nullptr);
  }
  guarded_path[0] = '\0';
}

/// The file that `path` means once links are followed; itself where nothing is there yet.
std::string resolved(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, failure);
  return failure ? path : target.string();
}

}  // namespace

Result<OutputFile> OutputFile::open(const std::string& path) {
  const std::string target = resolved(path);
  struct stat existing {};
  const bool exists = ::stat(target.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) return write_error(path, EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return write_error(path, errno);
    return OutputFile(fd, path, "", target);
  }
  if (exists && ::access(target.c_str(), W_OK) != 0) return write_error(path, errno);

  const std::filesystem::path full(target);
  const std::string name = fmt::format(".{}.{}.tmp", full.filename().string().substr(0, 200), ::getpid());
  const std::string temporary = (full.parent_path() / name).string();
  guard(temporary);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    const int code = errno;
    unguard(temporary);
    return write_error(path, code);
  }
  if (exists) (void)::fchmod(fd, existing.st_mode & 0777);
  return OutputFile(fd, path, temporary, target);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      target_(std::move(other.target_)) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  unguard(temporary_);
}

Status OutputFile::write(std::string_view bytes) {
  const int code = write_all(fd_, bytes);
  // A pipe whose reader went away is no failure of ours.
  if (code != 0 && (code != EPIPE || !temporary_.empty())) return write_error(path_, code);
  return ok_status();
}

Status OutputFile::commit() {
  int code = sync_and_close(std::exchange(fd_, -1));
  if (temporary_.empty()) return code == 0 || code == EPIPE ? ok_status() : Status(write_error(path_, code));
  if (code == 0 && ::rename(temporary_.c_str(), target_.c_str()) != 0) code = errno;
  if (code != 0) ::unlink(temporary_.c_str());
  unguard(temporary_);
  if (code == 0) return ok_status();
  return write_error(path_, code);
}

Status write_file(const std::string& path, std::string_view bytes) {
  Result<OutputFile> file = OutputFile::open(path);
  if (!file) return file.error();
  if (Status status = file->write(bytes); !status) return status;
  return file->commit();
}

Status check_writable(const std::string& path) {
  const std::string target = resolved(path);
  struct stat existing {};
  if (::stat(target.c_str(), &existing) == 0) {
    if (S_ISDIR(existing.st_mode)) return write_error(path, EISDIR);
    if (::access(target.c_str(), W_OK) != 0) return write_error(path, errno);
    if (!S_ISREG(existing.st_mode)) return ok_status();
  }
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) return write_error(path, errno);
  return ok_status();
}

Status write_stdout(std::string_view bytes) {
  const int code = write_all(STDOUT_FILENO, bytes);
  if (code != 0 && code != EPIPE) return write_error("standard output", code);
  return ok_status();
}

void prepare_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const int how = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;  // what is meant for a closed output must not get lost
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) (void)::open("/dev/null", how);
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
}

std::string same_file_among(const std::string& path, const std::vector<std::string>& paths) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0 || !S_ISREG(wanted.st_mode)) return "";
  for (const std::string& other : paths) {
    struct stat found {};
    if (::stat(other.c_str(), &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) {
      return other;
    }
  }
  return "";
}

}  // namespace eroica
