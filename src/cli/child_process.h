#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace eroica {

/// A command that runs with our standard streams. The process must have one thread when it starts.
class ChildProcess {
 public:
  /// `environment`: set in addition to ours. Error kNotFound: there is no such command; kUnreadable: it cannot be run.
  static Result<ChildProcess> start(const std::vector<std::string>& command,
                                    const std::vector<std::pair<std::string, std::string>>& environment);

  /// Until it ends; signals that somebody sends to us go to it meanwhile (those of the terminal reach it anyway). The
  /// exit status as shells have it: 128 + N after a signal.
  int wait() const;
  /// Signals that would end us may do so from now on.
  static void release_signals();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace eroica
