#include "agent/process_ends.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>
#include <utility>

#include "agent/process_state.h"

namespace eroica {
namespace {

#ifdef SYS_pidfd_open
int open_process(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }
#else
int open_process(pid_t) { return -1; }
#endif

/// As Linux has it since 6.15, which is later than most headers.
struct PidfdInfo {
  uint64_t mask = 0;
  uint64_t cgroup = 0;
  std::array<uint32_t, 11> ids{};
  int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr uint64_t kPidfdInfoExit = uint64_t{1} << 3;

/// While nobody has waited for the process /proc tells; after that, newer kernels do.
std::optional<int> wait_status_of(pid_t pid, int process) {
  const ProcessState state = read_process_state(pid);
  if (state.letter == 'Z' && state.exit_code) return state.exit_code;
  PidfdInfo info;
  info.mask = kPidfdInfoExit;
  if (ioctl(process, kPidfdGetInfo, &info) == 0 && (info.mask & kPidfdInfoExit) != 0) return info.exit_code;
  return std::nullopt;
}

}  // namespace

ProcessEnds::ProcessEnds() : all_(epoll_create1(EPOLL_CLOEXEC)) {}

void ProcessEnds::add(pid_t pid) {
  if (pid <= 0 || processes_.contains(pid)) return;
  Descriptor process(open_process(pid));  // closes on exec by itself
  if (process.number() < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = pid;
  if (epoll_ctl(all_.number(), EPOLL_CTL_ADD, process.number(), &event) == 0) processes_[pid] = std::move(process);
}

std::vector<EndedProcess> ProcessEnds::take() {
  std::vector<EndedProcess> ended;
  std::array<epoll_event, 64> events{};
  while (!processes_.empty()) {
    const int count = epoll_wait(all_.number(), events.data(), events.size(), 0);
    if (count <= 0) break;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const pid_t pid = events[i].data.fd;
      const auto process = processes_.find(pid);
      if (process == processes_.end()) continue;
      ended.push_back({pid, wait_status_of(pid, process->second.number())});
      processes_.erase(process);
    }
  }
  return ended;
}

}  // namespace eroica
