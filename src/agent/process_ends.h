#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

#include "base/descriptor.h"

namespace eroica {

struct EndedProcess {
  pid_t pid = -1;
  std::optional<int> wait_status;  ///< as wait(2) has it; absent: the kernel does not tell
};

/// Hears at once when processes end that are not children of this one. Where the kernel has no such thing (before Linux
/// 5.3) nothing is ever heard.
class ProcessEnds {
 public:
  ProcessEnds();

  void add(pid_t pid);
  [[nodiscard]] bool listens_to(pid_t pid) const { return processes_.contains(pid); }
  /// Is readable once one has ended; −1: never.
  [[nodiscard]] int fd() const { return all_.number(); }
  /// Those that have ended since; they are not listened to any longer.
  std::vector<EndedProcess> take();

 private:
  Descriptor all_;
  std::map<pid_t, Descriptor> processes_;
};

}  // namespace eroica
