#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

/// Names a process, also after its number was given to another.
struct ProcessMark {
  pid_t pid = -1;
  uint64_t start_ticks = 0;
  std::string pid_namespace;  ///< in which the number is meant

  bool operator==(const ProcessMark&) const = default;
};

/// What a job's folder says of itself.
struct JobNote {
  std::string job;
  bool profiling = true;  ///< false: windows are never taken
  ProcessMark maker;      ///< for whom the folder was made: it is kept at least as long as that process lives
};

inline constexpr size_t kMostNoteBytes = 8192;
inline constexpr size_t kMostJobBytes = 200;

std::string encode_note(const JobNote& note);
/// nullopt: it is none. What it says is its user's own word.
std::optional<JobNote> decode_note(std::string_view text);

/// Not empty, at most kMostJobBytes, no dot at the front, and nothing but printable ASCII without quotes, spaces and
/// slashes.
bool is_job_id(std::string_view text);

ProcessMark mark_of(pid_t pid, const std::string& proc = "/proc");
enum class Liveness : uint8_t { kAlive, kDead, kUnknown };
/// kUnknown: it lives in another namespace of pids, or nobody is named.
Liveness liveness(const ProcessMark& mark, const std::string& proc = "/proc");

}  // namespace eroica
