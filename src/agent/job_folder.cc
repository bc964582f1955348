#include "agent/job_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "agent/nccl_ring_format.h"
#include "agent/own_file.h"
#include "agent/socket_file.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFront = "eroica-";
constexpr std::string_view kRunName = "eroica-run-";
constexpr std::string_view kJobName = "eroica-job-";
// These go as what is left of a run.
constexpr std::string_view kNewName = "eroica-run-new-";
constexpr std::string_view kGoneName = "eroica-run-gone-";
constexpr const char* kTemporary = "/tmp";
constexpr const char* kNoteName = "job.json";
constexpr const char* kUsedName = "used";
constexpr int64_t kMostConfigBytes = 65'536;
// Kineto's client sockets have 52 characters more, and a socket's path may have 107.
constexpr size_t kMostBase = 32;
constexpr time_t kYoungS = 10;  // may not be locked yet
constexpr time_t kUnusedS = time_t{24} * 3600;
constexpr size_t kMostFolders = 4096;  // of one user
constexpr size_t kMostNames = 65'536;

std::string path_in(const std::string& folder, const std::string& name) { return fmt::format("{}/{}", folder, name); }

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

/// A folder that is ours and nobody else's business.
bool is_private(const std::string& path, uid_t owner) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == owner &&
         (found.st_mode & 077) == 0;
}

/// In order.
std::vector<std::string> names_in(const std::string& folder, std::string_view front = "") {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir(folder.c_str()), closedir);
  if (!open_folder) return names;
  while (const dirent* entry = readdir(open_folder.get())) {
    if (names.size() < kMostNames && std::string_view(entry->d_name).starts_with(front)) {
      names.emplace_back(entry->d_name);
    }
  }
  std::ranges::sort(names);
  return names;
}

/// Through no link, of a file that belongs to the folder's owner.
std::optional<JobNote> read_note(int folder, uid_t owner) {
  const int fd = openat(folder, kNoteName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat found {};
  std::array<char, kMostNoteBytes + 1> bytes{};
  ssize_t size = -1;
  if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == owner) {
    size = pread(fd, bytes.data(), bytes.size(), 0);
  }
  close(fd);
  return size > 0 ? decode_note({bytes.data(), static_cast<size_t>(size)}) : std::nullopt;
}

std::optional<FoundFolder> look_at(const std::string& path, std::string_view name) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat found {};
  std::optional<JobNote> note;
  if (fstat(fd, &found) == 0 && (found.st_mode & 077) == 0) note = read_note(fd, found.st_uid);
  close(fd);
  if (!note) return std::nullopt;
  return FoundFolder{path, found.st_uid, name.starts_with(kJobName), *std::move(note)};
}

enum class SocketState : uint8_t { kHeld, kLeft, kNone };

/// Of a datagram socket's file.
SocketState state_of_socket(const std::string& path) {
  const std::optional<sockaddr_un> address = socket_address(path);
  struct stat found {};
  if (!address || lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return SocketState::kNone;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return SocketState::kHeld;
  const bool refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 && errno == ECONNREFUSED;
  close(fd);
  return refused ? SocketState::kLeft : SocketState::kHeld;
}

}  // namespace

std::string control_socket_in(const std::string& sockets) { return sockets + "/control"; }
std::string kineto_config_in(const std::string& sockets) { return sockets + "/kineto.conf"; }
std::string traces_in(const std::string& sockets) { return sockets + "/traces"; }

std::vector<std::string> job_bases(const Environment& now) {
  const auto value = [&](const char* name) {
    const char* found = now(name);
    return std::string(found == nullptr ? "" : found);
  };
  if (const std::string own = value("EROICA_JOBS_DIR"); !own.empty()) return {own};
  std::vector<std::string> bases = {kTemporary};
  const std::string runtime = value("XDG_RUNTIME_DIR");
  if (runtime != kTemporary && may_hold(runtime)) bases.push_back(runtime);
  return bases;
}

size_t remove_left_sockets(const std::string& sockets) {
  constexpr std::string_view kProbe = "probe-";
  constexpr std::string_view kNccl = nccl::kSocketFront;
  constexpr std::string_view kClient = "dynoconfigclient";
  size_t held = 0;
  std::set<std::string> ended;
  const std::vector<std::string> names = names_in(sockets);
  for (const std::string& name : names) {
    if (!name.starts_with(kProbe) && !name.starts_with(kNccl) && !name.starts_with(kClient)) continue;
    const SocketState state = state_of_socket(path_in(sockets, name));
    if (state == SocketState::kHeld) ++held;
    if (state != SocketState::kLeft) continue;
    if (name.starts_with(kProbe)) {
      ended.insert(name.substr(kProbe.size() - 1));
    } else if (name.starts_with(kNccl)) {
      ended.insert(name.substr(kNccl.size() - 1));
    } else {
      unlink(path_in(sockets, name).c_str());
    }
  }
  if (ended.empty()) return held;
  for (const std::string& name : names) {  // KIND-PID-RANDOM
    const size_t dash = name.find('-');
    if (dash != std::string::npos && ended.contains(name.substr(dash))) unlink(path_in(sockets, name).c_str());
  }
  return held;
}

bool nobody_comes_back(const std::string& path) {
  const std::optional<FoundFolder> found = look_at(path, kJobName);
  const Liveness maker = found ? liveness(found->note.maker) : Liveness::kUnknown;
  if (maker == Liveness::kAlive) return false;
  struct stat seen {};
  if (lstat(path.c_str(), &seen) != 0) return false;
  const std::vector<std::string> names = names_in(path);
  const bool was_used = std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with("probe-") || name == kUsedName; });
  if (was_used) mark_used(path);  // before the sockets go that tell it
  if (remove_left_sockets(path) > 0) return false;
  return (was_used && maker == Liveness::kDead) || std::time(nullptr) - seen.st_mtime > kUnusedS;
}

void mark_used(const std::string& path) {
  const std::string mark = fmt::format("{}/{}", path, kUsedName);
  if (file_size(mark) < 0) (void)write_own_file(mark, "");
}

bool remove_job_folder(const std::string& path) {
  // Nobody can find it under the other name; who wrote into it before that has it back.
  const fs::path whole(path);
  const std::string name = whole.filename().string();
  const std::string aside = fmt::format("{}/{}{}", whole.parent_path().string(), kGoneName,
                                        name.substr(std::min(name.size(), kJobName.size())));
  if (rename(path.c_str(), aside.c_str()) != 0) return false;
  std::error_code ignored;
  if (!nobody_comes_back(aside) && rename(aside.c_str(), path.c_str()) == 0) return false;
  fs::remove_all(aside, ignored);
  return true;
}

std::vector<FoundFolder> find_job_folders(const std::vector<std::string>& bases, std::optional<uid_t> owner) {
  std::vector<FoundFolder> found;
  std::map<uid_t, size_t> of_owner;
  for (const std::string& base : bases) {
    for (const std::string& name : names_in(base, kFront)) {
      if (!name.starts_with(kRunName) && !name.starts_with(kJobName)) continue;
      const std::string path = path_in(base, name);
      struct stat seen {};
      if (lstat(path.c_str(), &seen) != 0 || !S_ISDIR(seen.st_mode)) continue;
      if (owner && seen.st_uid != *owner) continue;
      if (++of_owner[seen.st_uid] > kMostFolders) continue;  // nobody hides the jobs of others behind many of his own
      if (std::optional<FoundFolder> folder = look_at(path, name)) found.push_back(*std::move(folder));
    }
  }
  return found;
}

void remove_left_folders(const std::string& base) {
  for (const std::string& name : names_in(base, kFront)) {
    const bool is_job = name.starts_with(kJobName);
    if (!is_job && !name.starts_with(kRunName)) continue;
    const std::string path = path_in(base, name);
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid()) continue;
    if (std::time(nullptr) - found.st_ctime < kYoungS) continue;
    const int lock = lock_folder(path);
    if (lock < 0) continue;
    std::error_code ignored;
    if (!is_job) {
      fs::remove_all(path, ignored);
    } else if (nobody_comes_back(path)) {
      remove_job_folder(path);
    }
    close(lock);
  }
}

Result<std::string> open_job_folder(const std::string& base, const JobNote& note, const std::string& kineto_config) {
  for (const FoundFolder& found : find_job_folders({base}, geteuid())) {
    if (!found.waits_for_agent || found.note.job != note.job) continue;
    if (write_own_file(found.path + "/" + kNoteName, encode_note(note)))
      return found.path;  // it is not just being removed
  }
  // An agent sees the folder when all is in it.
  std::string path = fmt::format("{}/{}XXXXXX", base, kNewName);
  const auto failed = [&] {
    return Error{Error::Kind::kWrite, fmt::format("{}: no folder can be made there: {}", base, std::strerror(errno))};
  };
  if (base.size() > kMostBase) {
    return Error{Error::Kind::kWrite, fmt::format("{}: too long; at most {} characters", base, kMostBase)};
  }
  if (mkdtemp(path.data()) == nullptr) return failed();
  const std::string final_path = fmt::format("{}/{}{}", base, kJobName, path.substr(path.size() - 6));
  Status made = write_own_file(kineto_config_in(path), kineto_config);
  if (made) made = write_own_file(path + "/" + kNoteName, encode_note(note));
  if (made && (mkdir(traces_in(path).c_str(), 0700) != 0 || rename(path.c_str(), final_path.c_str()) != 0)) {
    made = failed();
  }
  if (made) return final_path;
  std::error_code ignored;
  fs::remove_all(path, ignored);
  return made.error();
}

JobFolder::JobFolder(Folder sockets, Folder traces, JobNote note, std::string kineto_config, bool stays)
    : sockets_(std::move(sockets)),
      traces_(std::move(traces)),
      note_(std::move(note)),
      kineto_config_text_(std::move(kineto_config)),
      stays_(stays) {}

Result<JobFolder::Folder> JobFolder::make_in(const std::string& base) {
  Folder folder;
  if (base.size() > kMostBase) {
    return Error{Error::Kind::kWrite, fmt::format("{}: too long; at most {} characters", base, kMostBase)};
  }
  folder.path = fmt::format("{}/{}XXXXXX", base, kRunName);
  if (mkdtemp(folder.path.data()) == nullptr) {
    return Error{Error::Kind::kWrite, fmt::format("{}: no folder can be made there: {}", base, std::strerror(errno))};
  }
  folder.lock = lock_folder(folder.path);
  return folder;
}

Status JobFolder::describe() const {
  if (Status told = write_own_file(kineto_config(), kineto_config_text_); !told) return told;
  return write_own_file(sockets_.path + "/" + kNoteName, encode_note(note_));
}

void JobFolder::remove(Folder& folder) {
  if (folder.path.empty()) return;
  std::error_code ignored;
  // A process of the job that is ending may write meanwhile.
  for (int attempt = 0; attempt < 3 && fs::exists(folder.path, ignored); ++attempt) {
    fs::remove_all(folder.path, ignored);
  }
}

Result<JobFolder> JobFolder::make(const std::vector<std::string>& bases, JobNote note, std::string kineto_config) {
  for (const std::string& base : bases) remove_left_folders(base);
  Result<Folder> sockets = make_in(bases.front());
  if (!sockets) return sockets.error();
  Result<Folder> traces = make_in(bases.back());
  if (!traces) {
    remove(*sockets);
    close(sockets->lock);
    return traces.error();
  }
  JobFolder folder(std::move(*sockets), std::move(*traces), std::move(note), std::move(kineto_config), false);
  if (Status described = folder.describe(); !described) return described.error();
  return folder;
}

Result<JobFolder> JobFolder::adopt(const std::string& path) {
  const std::optional<FoundFolder> found =
      is_private(path, geteuid()) ? look_at(path, fs::path(path).filename().string()) : std::nullopt;
  if (!found) return Error{Error::Kind::kNotFound, path + ": no folder of a job of ours"};
  Folder sockets{path, lock_folder(path)};
  if (sockets.lock < 0) return Error{Error::Kind::kAmbiguous, path + ": another process watches this job"};
  JobFolder folder(std::move(sockets), {traces_in(path), -1}, found->note,
                   read_own_file(kineto_config_in(path), 0, kMostConfigBytes), true);
  if (Status whole = folder.repair(); !whole) return whole.error();
  return folder;
}

Status JobFolder::repair(Folder& folder) {
  struct stat named {};
  struct stat held {};
  const auto failed = [&] {
    return Error{Error::Kind::kWrite, fmt::format("{}: {}", folder.path, std::strerror(errno))};
  };
  if (mkdir(folder.path.c_str(), 0700) != 0 && errno != EEXIST) return failed();
  if (!is_private(folder.path, geteuid())) {
    return Error{Error::Kind::kWrite, folder.path + ": somebody else's folder stands in its place"};
  }
  if (lstat(folder.path.c_str(), &named) != 0) return failed();
  if (folder.lock >= 0 && fstat(folder.lock, &held) == 0 && held.st_ino == named.st_ino &&
      held.st_dev == named.st_dev) {
    return ok_status();
  }
  if (folder.lock >= 0) close(folder.lock);
  folder.lock = lock_folder(folder.path);
  return ok_status();
}

Status JobFolder::repair() {
  if (Status whole = repair(sockets_); !whole) return whole;
  if (Status whole = repair(traces_); !whole) return whole;
  const bool described =
      file_size(kineto_config()) >= 0 && file_size(fmt::format("{}/{}", sockets_.path, kNoteName)) >= 0;
  return described ? ok_status() : describe();
}

JobFolder::JobFolder(JobFolder&& other) noexcept
    : sockets_(std::exchange(other.sockets_, {})),
      traces_(std::exchange(other.traces_, {})),
      note_(std::move(other.note_)),
      kineto_config_text_(std::move(other.kineto_config_text_)),
      stays_(other.stays_) {}

JobFolder::~JobFolder() {
  for (Folder* folder : {&sockets_, &traces_}) {
    if (!stays_) remove(*folder);
    if (folder->lock >= 0) close(folder->lock);
  }
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
  const std::string path = set("PYTHONPATH") ? now("PYTHONPATH") : "";
  const bool has_site = path == site || path.starts_with(site + ":");
  result.emplace_back("PYTHONPATH", has_site ? path : path.empty() ? site : site + ":" + path);
  if (!set("TORCH_FR_BUFFER_SIZE")) result.emplace_back("TORCH_FR_BUFFER_SIZE", "2000");
  if (!variables.profiling) return result;
  result.emplace_back("KINETO_USE_DAEMON", "1");
  result.emplace_back("KINETO_IPC_SOCKET_DIR", variables.sockets);
  result.emplace_back("KINETO_CONFIG", variables.kineto_config);
  result.emplace_back("KINETO_ONDEMAND_TRACE_DIR", variables.traces);
  if (!variables.nccl_plugin.empty() && !set("NCCL_PROFILER_PLUGIN")) {
    result.emplace_back("NCCL_PROFILER_PLUGIN", variables.nccl_plugin);
  }
  return result;
}

std::string kineto_config_text(const std::string& users) {
  std::string text = users;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n";
}

}  // namespace eroica
