#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace eroica {

/// What a process is doing, as the kernel tells.
struct ProcessState {
  char letter = 'X';             ///< of /proc/PID/stat; 'X' where there is no such process
  std::string wait_channel;      ///< the kernel function that it sleeps in; empty: none, or not told
  uint64_t start_ticks = 0;      ///< tells it from a later process of the same number
  std::optional<int> exit_code;  ///< as wait(2) has it, of one that has ended

  [[nodiscard]] bool dead() const { return letter == 'X' || letter == 'Z'; }
  /// Of the process that was started then.
  [[nodiscard]] bool lives(uint64_t started_ticks) const { return !dead() && start_ticks == started_ticks; }
  [[nodiscard]] bool stopped() const { return letter == 'T' || letter == 't'; }
};

ProcessState read_process_state(pid_t pid, const std::string& proc = "/proc");

/// Whether the process has a handler for the signal; without one it kills.
bool catches_signal(pid_t pid, int signal, const std::string& proc = "/proc");

/// "process 123 sleeps (futex_wait_queue)"
std::string in_words(const ProcessState& state, pid_t pid);

}  // namespace eroica
