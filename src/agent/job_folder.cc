#include "agent/job_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "eroica-run-";
constexpr const char* kTemporary = "/tmp";
// Kineto's client sockets have 52 characters more, and a socket's path may have 107.
constexpr size_t kMostBase = 32;
constexpr time_t kYoungS = 10;  // may not be locked yet

bool may_hold(const std::string& base) {
  struct stat found {};
  return !base.empty() && base.front() == '/' && base.size() <= kMostBase && stat(base.c_str(), &found) == 0 &&
         S_ISDIR(found.st_mode) && access(base.c_str(), W_OK | X_OK) == 0;
}

int lock_folder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/// Folders that nobody holds any more: whoever made them died.
void remove_leftovers(const std::string& base) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(base, error)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(kName)) continue;
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid()) continue;
    if (std::time(nullptr) - found.st_ctime < kYoungS) continue;
    const int lock = lock_folder(path);
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(path, ignored);
    close(lock);
  }
}

}  // namespace

Result<JobFolder::Folder> JobFolder::make_in(const std::string& base) {
  Folder folder;
  folder.path = fmt::format("{}/{}XXXXXX", base, kName);
  if (mkdtemp(folder.path.data()) == nullptr) {
    return Error{Error::Kind::kWrite, fmt::format("{}: no folder can be made there: {}", base, std::strerror(errno))};
  }
  folder.lock = lock_folder(folder.path);
  return folder;
}

void JobFolder::remove(Folder& folder) {
  if (folder.path.empty()) return;
  std::error_code ignored;
  // A process of the job that is ending may write meanwhile.
  for (int attempt = 0; attempt < 3 && fs::exists(folder.path, ignored); ++attempt) {
    fs::remove_all(folder.path, ignored);
  }
  if (folder.lock >= 0) close(folder.lock);
}

Result<JobFolder> JobFolder::make(const std::string& runtime_dir) {
  const std::string base = may_hold(runtime_dir) ? runtime_dir : kTemporary;
  remove_leftovers(kTemporary);
  if (base != kTemporary) remove_leftovers(base);
  Result<Folder> sockets = make_in(base);
  if (!sockets) return sockets.error();
  Result<Folder> traces = make_in(kTemporary);
  if (!traces) {
    remove(*sockets);
    return traces.error();
  }
  return JobFolder(std::move(*sockets), std::move(*traces));
}

JobFolder::JobFolder(JobFolder&& other) noexcept
    : sockets_(std::exchange(other.sockets_, {})), traces_(std::exchange(other.traces_, {})) {}

JobFolder::~JobFolder() {
  remove(sockets_);
  remove(traces_);
}

std::vector<std::pair<std::string, std::string>> job_environment(const JobVariables& variables,
                                                                 const Environment& now) {
  const auto set = [&](const char* name) {
    const char* value = now(name);
    return value != nullptr && *value != '\0';
  };
  std::vector<std::pair<std::string, std::string>> result = {
      {"EROICA_SOCKET_DIR", variables.sockets},
      {"EROICA_JOB", variables.job},
      {"EROICA_TRACE_DIR", variables.traces},
  };
  const std::string site = variables.probe_dir + "/site";
  result.emplace_back("PYTHONPATH", set("PYTHONPATH") ? site + ":" + now("PYTHONPATH") : site);
  if (!set("TORCH_FR_BUFFER_SIZE")) result.emplace_back("TORCH_FR_BUFFER_SIZE", "2000");
  if (!variables.profiling) return result;
  result.emplace_back("KINETO_USE_DAEMON", "1");
  result.emplace_back("KINETO_IPC_SOCKET_DIR", variables.sockets);
  result.emplace_back("KINETO_CONFIG", variables.kineto_config);
  result.emplace_back("KINETO_ONDEMAND_TRACE_DIR", variables.traces);
  return result;
}

std::string kineto_config_text(const std::string& users) {
  std::string text = users;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n";
}

}  // namespace eroica
