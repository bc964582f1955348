#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/rule.h"

namespace eroica {

/// How one rank's process ended: what it said of it, and what the kernel does.
struct RankExit {
  int32_t rank = -1;
  std::string host;
  pid_t pid = -1;
  int64_t unix_ns = 0;  ///< of the first sign
  int64_t last_step = 0;
  bool said_bye = false;
  std::string exception;  ///< that it said it ends with
  std::string file;       ///< where that was raised
  int32_t line = 0;
  bool has_ended = false;          ///< its process, too
  std::optional<int> wait_status;  ///< as wait(2) has it

  /// It ended as one does that has nothing more to do.
  [[nodiscard]] bool in_order() const;
  /// Somebody asked for it: SIGTERM, Ctrl-C.
  [[nodiscard]] bool as_asked() const;
  /// Neither: somebody may be to blame for it.
  [[nodiscard]] bool accuses() const { return !in_order() && !as_asked(); }
};

/// "was killed by signal 9 (SIGKILL)"
std::string in_words(const RankExit& end);

/// The ends of a job's ranks on this host, in the order in which they were noticed.
struct RankExits {
  int32_t world_size = -1;
  std::vector<RankExit> ends;
  std::vector<int32_t> ended_before;  ///< long before those, in order or as somebody asked
  std::vector<int32_t> going_on;      ///< ranks that had not ended when this was written
  uint64_t oom_kills = 0;             ///< by the kernel on this host, in the seconds before
  double mean_step_s = 0;
};

/// The rank whose end ended the job, or all of them where they died alike. Empty where all ended in order, as somebody
/// asked, or by what another host may have done to them.
std::vector<int32_t> first_to_end(const RankExits& ends);

/// Who ended first and how, while the others were still training; no diagnosis where first_to_end() is empty.
Conclusion conclude_ended(const RankExits& ends, std::span<const Rule> rules);

}  // namespace eroica
