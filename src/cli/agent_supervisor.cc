#include "cli/agent_supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/clocks.h"
#include "cli/logging.h"
#include "cli/signal_set.h"

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kFirstBackoffNs = kSecondNs;
constexpr int64_t kMostBackoffNs = 60 * kSecondNs;
constexpr time_t kScanEveryS = 2;
constexpr int kMostEndingS = 10;
constexpr size_t kMostUsers = 256;
constexpr size_t kMostPasswdBytes = 65'536;

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
};

/// A user whom the system does not know by name has his own number as his group and no others.
User look_up(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(kMostPasswdBytes, '\0');
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {uid, uid, ""};
  return {uid, found->pw_gid, found->pw_name};
}

/// For good. False when anything of root's would be left.
bool become(const User& user) {
  if (user.uid == 0) return true;
  const bool groups = user.name.empty() ? setgroups(0, nullptr) == 0 : initgroups(user.name.c_str(), user.gid) == 0;
  if (!groups || setresgid(user.gid, user.gid, user.gid) != 0 || setresuid(user.uid, user.uid, user.uid) != 0) {
    return false;
  }
  return setuid(0) != 0 && seteuid(0) != 0;
}

/// A folder for what is kept of the user's jobs. Empty: there can be none.
std::string keep_of(const std::string& keep, const User& user) {
  const std::string path = keep + "/" + (user.name.empty() ? std::to_string(user.uid) : user.name);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return "";
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const bool theirs = fd >= 0 && fchown(fd, user.uid, user.gid) == 0 && fchmod(fd, 0700) == 0;
  if (fd >= 0) close(fd);
  return theirs ? path : "";
}

class Supervisor {
 public:
  Supervisor(JobAgentOptions options, Log& log) : options_(std::move(options)), log_(log) {
    options_.leaves_when_idle = true;
  }

  void run() {
    const sigset_t signals = signal_set({SIGTERM, SIGINT, SIGHUP, SIGCHLD});
    while (true) {
      start_missing();
      const timespec wait{kScanEveryS, 0};
      const int signal = sigtimedwait(&signals, nullptr, &wait);
      reap();
      if (signal > 0 && signal != SIGCHLD) break;
    }
    end_all();
  }

 private:
  struct Child {
    pid_t pid = -1;  // −1: none runs
    int64_t next_start_ns = 0;
    int64_t backoff_ns = kFirstBackoffNs;
    int64_t began_ns = 0;
  };

  void start_missing() {
    for (const FoundFolder& found : find_job_folders({options_.base}, std::nullopt)) {
      if (!found.waits_for_agent) continue;
      if (!children_.contains(found.owner) && children_.size() >= kMostUsers) continue;
      Child& child = children_[found.owner];
      if (child.pid < 0 && monotonic_ns() >= child.next_start_ns) start(found.owner, child);
    }
  }

  void start(uid_t uid, Child& child) {
    const User user = look_up(uid);
    std::string keep;
    if (!options_.watch.report.keep.empty()) {
      keep = keep_of(options_.watch.report.keep, user);
      if (keep.empty())
        log_.error(fmt::format("{}: nothing can be kept there for user {}", options_.watch.report.keep, uid));
    }
    const pid_t parent = getpid();
    child.pid = fork();
    child.began_ns = monotonic_ns();
    if (child.pid != 0) return;
    if (!become(user)) _exit(1);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent) _exit(1);
    options_.watch.report.keep = keep;
    JobAgent(std::move(options_)).run();
    _exit(0);
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      for (auto& [uid, child] : children_) {
        if (child.pid != pid) continue;
        child.pid = -1;
        const bool lasted = monotonic_ns() - child.began_ns > kMostBackoffNs;
        child.backoff_ns = lasted ? kFirstBackoffNs : std::min(child.backoff_ns * 2, kMostBackoffNs);
        const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        child.next_start_ns = failed ? monotonic_ns() + child.backoff_ns : 0;
        if (failed) log_.error(fmt::format("the process for the jobs of user {} has ended; another follows", uid));
      }
    }
    // Who has no jobs any more, so that others have the place.
    std::erase_if(children_, [](const auto& child) { return child.second.pid < 0 && child.second.next_start_ns == 0; });
  }

  void end_all() {
    for (const auto& [uid, child] : children_) {
      if (child.pid > 0) kill(child.pid, SIGTERM);
    }
    const sigset_t ended = signal_set({SIGCHLD});
    const auto running = [&] {
      return std::ranges::any_of(children_, [](const auto& child) { return child.second.pid > 0; });
    };
    for (int i = 0; i < kMostEndingS && running(); ++i) {
      const timespec second{1, 0};
      sigtimedwait(&ended, nullptr, &second);
      reap();
    }
    for (const auto& [uid, child] : children_) {
      if (child.pid > 0) kill(child.pid, SIGKILL);
    }
  }

  JobAgentOptions options_;
  Log& log_;
  std::map<uid_t, Child> children_;
};

}  // namespace

int supervise(JobAgentOptions options, Log& log) {
  Supervisor(std::move(options), log).run();
  return 0;
}

}  // namespace eroica
