#include "cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "cli/signal_set.h"

namespace eroica {
namespace {

constexpr int kEndUnknown = 127;

/// Those to be forwarded, and the child's end.
sigset_t awaited() { return signal_set({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD}); }

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment, const sigset_t& mask,
                         int report) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  (void)!write(report, &error, sizeof error);
  _exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& command,
                                         const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto failed = [&](int error) {
    const bool missing = error == ENOENT;
    return Error{missing ? Error::Kind::kNotFound : Error::Kind::kUnreadable,
                 fmt::format("{}: {}", command.front(), std::strerror(error))};
  };
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) return failed(errno);
  // Who started us may have had it ignored, and then no child's end is told.
  std::signal(SIGCHLD, SIG_DFL);
  const sigset_t signals = awaited();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t pid = fork();
  if (pid == 0) become(command, environment, before, report[1]);
  close(report[1]);
  int error = pid < 0 ? errno : 0;
  if (pid > 0 && read(report[0], &error, sizeof error) == sizeof error) waitpid(pid, nullptr, 0);
  close(report[0]);
  if (error != 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return failed(error);
  }
  return ChildProcess(pid);
}

int ChildProcess::wait() const {
  const sigset_t signals = awaited();
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_ && WIFEXITED(status)) return WEXITSTATUS(status);
    if (ended == pid_ && WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    if (ended < 0 && errno == ECHILD) return kEndUnknown;
    siginfo_t info{};
    const timespec second{1, 0};
    const int signal = sigtimedwait(&signals, &info, &second);
    if (signal <= 0 || signal == SIGCHLD || signal == SIGWINCH) continue;
    // What a terminal sends goes to the whole foreground group.
    if (info.si_code != SI_KERNEL) kill(pid_, signal);
  }
}

void ChildProcess::release_signals() {
  const sigset_t signals = awaited();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace eroica
