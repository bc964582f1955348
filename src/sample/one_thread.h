#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sample/process_text.h"
#include "sample/sample_log.h"
#include "sample/system_files.h"

namespace eroica {

/// The one thread that drives a process, read often.
class OneThread {
 public:
  OneThread(const SystemFiles& files, pid_t pid, std::string entity);

  [[nodiscard]] const std::string& entity() const { return entity_; }
  /// What the scheduler booked for it so far; absent: not told.
  std::optional<SchedStat> booked();
  std::optional<TaskStat> stat();
  /// Whether it is in uninterruptible sleep.
  void tell_blocked(const TaskStat& stat, SampleLog& log) const;

 private:
  std::string entity_;
  KeptFile schedule_;
  KeptFile stat_;
  std::string text_;
};

}  // namespace eroica
