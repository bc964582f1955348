#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/process_state.h"
#include "agent/recorder_dump.h"
#include "agent/stack_listing.h"
#include "diagnose/diagnosis.h"
#include "diagnose/rule.h"
#include "trace/trace.h"

namespace eroica {

/// What was found out about one rank of a job that stands still.
struct RankInquiry {
  int32_t rank = -1;
  std::string host;
  pid_t pid = -1;
  ProcessState process;
  bool left = false;                  ///< it said that it ends
  std::vector<StackFrame> stack;      ///< of its main thread, innermost first; empty: not known
  bool recorder_known = false;        ///< its flight recorder answered
  std::vector<RecorderGroup> groups;  ///< what it said
  int64_t last_step = 0;
};

struct BlockedInquiry {
  int32_t world_size = -1;
  double silent_s = 0;
  double mean_step_s = 0;
  std::vector<RankInquiry> ranks;  ///< ascending
  std::vector<ProcessGroup> groups;
};

/// Who did not enter the collective that the others wait in, where they stand and what their processes do: the
/// conclusion about a job that stands still. `rules`: for titles and actions of the blocked.* causes.
Conclusion conclude_blocked(const BlockedInquiry& inquiry, std::span<const Rule> rules);

}  // namespace eroica
