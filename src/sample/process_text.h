#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

// What the kernel tells of a process or thread. Absent: the text is something else.

/// /proc/PID/task/TID/schedstat
struct SchedStat {
  uint64_t run_ns = 0;
  uint64_t wait_ns = 0;  ///< runnable, and not running
};
std::optional<SchedStat> parse_schedstat(std::string_view text);

/// /proc/PID/stat, or the same of a thread
struct TaskStat {
  std::string name;
  char state = '?';
  int32_t parent = 0;
  uint64_t major_faults = 0;
  uint64_t user_ticks = 0;
  uint64_t system_ticks = 0;
  uint64_t threads = 0;
  uint64_t start_ticks = 0;
  uint64_t resident_pages = 0;
  int32_t cpu = -1;  ///< on which it ran last; −1: not told
};
std::optional<TaskStat> parse_task_stat(std::string_view text);

/// /proc/PID/io
struct ProcessIo {
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
};
std::optional<ProcessIo> parse_process_io(std::string_view text);

/// How many CPUs /proc/PID/status allows.
std::optional<uint64_t> parse_allowed_cpus(std::string_view status);

}  // namespace eroica
