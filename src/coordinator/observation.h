#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "agent/job_status.h"

namespace eroica {

// What a watcher of a job on one host tells the service, as values. A job may have one on each of its hosts.

enum class TroubleKind : uint8_t {
  kSlow,
  kBlocked,
  kFound,  ///< steps are as ever, but a window shows something wrong
};

/// One claim of a diagnosis document, as far as an incident needs it.
struct Claim {
  std::string cause;
  std::string title;
  std::string summary;
  std::string action;
  double confidence = 0;
  std::vector<int32_t> ranks;  ///< at most kMostListed
  std::vector<std::string> hosts;
  std::string component;
  double lost_gpu_seconds_per_hour = 0;
};
inline constexpr size_t kMostListed = 64;

/// The job as the host's watcher sees it; told every few seconds.
struct StatusTold {
  JobStatus status;
};

struct TroubleTold {
  TroubleKind kind = TroubleKind::kSlow;
  int64_t onset_unix_ns = 0;  ///< 0: not known
  int64_t step = 0;           ///< first slow one, or the last before it stood still
  double level_ms = 0;        ///< of a step now; 0: not known
  double baseline_ms = 0;     ///< of a healthy one; 0: not known
};

/// Steps are as they were, or the job goes on.
struct RecoveryTold {
  int64_t step = 0;
};

struct WindowTold {
  std::string id;  ///< unique within job and host
  double length_s = 0;
  int64_t ranks = 0;
  double interference_ms = -1;  ///< −1: not known
};

struct DocumentTold {
  std::string json;  ///< of the form of docs/diagnosis.schema.json
  bool healthy = true;
  std::vector<Claim> claims;
};

/// What came of an order of the service.
struct OrderTold {
  int64_t id = 0;
  std::string window;
  std::string refused;  ///< empty: the window begins
};

/// The host's watcher ends; the job may go on.
struct WatcherLeft {};

struct Observation {
  int64_t number = 0;   ///< counts up from 1 for each sender: one that came before has no effect
  int64_t unix_ns = 0;  ///< by the host's wall clock
  std::string job;
  std::string host;
  std::variant<StatusTold, TroubleTold, RecoveryTold, WindowTold, DocumentTold, OrderTold, WatcherLeft> what;
};

}  // namespace eroica
