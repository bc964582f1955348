#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/watch_cost.h"

namespace eroica {

enum class JobState : uint8_t {
  kStarting,  ///< no rank was seen yet
  kLearning,  ///< too few steps to tell what is usual
  kHealthy,
  kSlow,
  kBlocked,
  kEnded,      ///< every rank has left
  kUnwatched,  ///< the watcher has failed
};

/// A window that was asked for, from that until its end is told.
enum class WindowStage : uint8_t { kNone, kAsked, kArmed, kTracing, kCollecting, kAnalysing };

/// The last window that is over, and what came of it.
struct WindowOutcome {
  std::string id;  ///< empty: there was none
  std::string text;
  std::string document;  ///< path of the JSON document, with a `.txt` beside it; empty: it has none
  bool claims = false;   ///< something is wrong with the job
};

/// What was last said of the job.
struct ToldDiagnosis {
  int64_t unix_ns = 0;  ///< 0: nothing
  std::string cause;
  std::string title;
  std::vector<int32_t> ranks;
};

/// A watched job as it stands now.
struct JobStatus {
  std::string job;
  std::string watcher;  ///< "run" or "agent"
  int64_t watcher_pid = -1;
  std::string folder;  ///< of its sockets
  int64_t since_unix_ns = 0;
  JobState state = JobState::kStarting;
  int64_t ranks = 0;  ///< that take part
  int64_t world_size = -1;
  int64_t hosts = 0;
  int64_t step = 0;
  double step_ms = 0;  ///< mean of about the last 50 steps; 0: not known
  double best_ms = 0;  ///< of a usual healthy step; 0: not known
  std::string window;  ///< id of the one under way; empty: none
  WindowStage stage = WindowStage::kNone;
  int64_t windows = 0;  ///< taken so far
  double profiled_s = 0;
  double interference_ms = -1;  ///< training time that the last window cost; −1: not known
  WatchCost cost;
  int64_t dropped = 0;  ///< step records that the job could not send
  int64_t refused = 0;  ///< datagrams that were broken, or not the job's
  int64_t diagnoses = 0;
  WindowOutcome last_window;
  ToldDiagnosis last_diagnosis;
};

}  // namespace eroica
