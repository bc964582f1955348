#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/observation.h"

namespace eroica {

enum class IncidentState : uint8_t {
  kOpen,
  kRecovering,  ///< the job is well again, but not for long enough
  kClosed,
};

enum class Resolution : uint8_t {
  kNone,       ///< it is not closed
  kRecovered,  ///< the job was well for long enough
  kEnded,      ///< every rank left the job
  kLost,       ///< nobody told of the job any longer
};

/// A claim, as often as it came.
struct ToldClaim {
  Claim claim;
  int64_t first_unix_ns = 0;
  int64_t last_unix_ns = 0;
  int64_t times = 1;
  int64_t document = 0;  ///< id of the last document that holds it
};

struct IncidentWindow {
  std::string host;
  WindowTold window;
  int64_t unix_ns = 0;
};

/// A trouble of a job, from its detection until the job is well again.
struct Incident {
  int64_t id = 0;
  std::string tenant;
  std::string job;
  TroubleKind kind = TroubleKind::kSlow;
  IncidentState state = IncidentState::kOpen;
  Resolution resolution = Resolution::kNone;
  int64_t onset_step = 0;
  double baseline_ms = 0;  ///< of a step; 0: not known
  double level_ms = 0;     ///< the worst since
  int64_t ranks = 0;       ///< that take part
  // Times; 0: not (yet).
  int64_t onset_unix_ns = 0;
  int64_t detected_unix_ns = 0;
  int64_t localised_unix_ns = 0;  ///< the first claim
  int64_t acted_unix_ns = 0;      ///< the first change that names this incident
  int64_t recovered_unix_ns = 0;
  int64_t closed_unix_ns = 0;
  int64_t told_unix_ns = 0;    ///< up to when lost or recovered time is counted
  int64_t repeats = 0;         ///< how often it was detected again
  double lost_gpu_s = 0;       ///< so far
  double recovered_gpu_s = 0;  ///< that would have been lost since it recovered, had it gone on
  double interference_ms = 0;  ///< training time that its windows cost
  double interference_gpu_s = 0;
  std::vector<IncidentWindow> windows;  ///< the last kMostKept
  std::vector<ToldClaim> claims;        ///< the most costly document's first; at most kMostKept
  /// Whose windows showed something, and none that was healthy since; at most kMostKept.
  std::vector<std::string> claiming_hosts;
  int64_t windows_count = 0;
  int64_t documents_count = 0;
};
inline constexpr size_t kMostKept = 64;

/// The share of the GPUs' time that is lost while it lasts, 0 … 1.
double lost_share(const Incident& incident);
/// What the incident is put down to: its surest claim's cause, or empty.
std::string_view main_cause(const Incident& incident);
/// "network", the part of a cause's id before its first dot; "undiagnosed" without a claim.
std::string category(const Incident& incident);
/// "job7 is slow since step 812: data.loader_slow on rank 3"
std::string headline(const Incident& incident);

std::string_view trouble_kind_name(TroubleKind kind);
std::string_view incident_state_name(IncidentState state);
std::string_view resolution_name(Resolution resolution);  ///< "" for kNone

}  // namespace eroica
