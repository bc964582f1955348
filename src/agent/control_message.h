#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agent/job_status.h"

namespace eroica {

// What `eroica status` and `eroica trigger` say to the watcher of a job, and what it answers: one packet each, a JSON
// object. What comes in is not trusted.

inline constexpr size_t kMostRequestBytes = 4096;
inline constexpr size_t kMostAnswerBytes = 65'536;
inline constexpr double kLeastWindowS = 0.1;
inline constexpr double kMostWindowS = 600;

struct ControlRequest {
  enum class Kind {
    kStatus,
    kTrigger,  ///< a window now
  };
  Kind kind = Kind::kStatus;
  std::optional<double> window_s;  ///< length; absent: as the watcher would choose
  std::string reason;              ///< why, for people; at most 200 bytes
};

std::string encode_request(const ControlRequest& request);
/// nullopt: no request, or one with values out of range.
std::optional<ControlRequest> decode_request(std::string_view packet);

/// What follows from a trigger.
struct TriggerAnswer {
  std::string refused;  ///< why no window is taken; empty: one is
  std::string window;   ///< its id
  double begins_in_s = 0;
  double length_s = 0;
  int64_t ranks = 0;
};

std::string encode_answer(const TriggerAnswer& answer);
std::string encode_answer(const JobStatus& status);
std::string encode_refusal(std::string_view why);
/// nullopt: no answer to a trigger.
std::optional<TriggerAnswer> decode_trigger_answer(std::string_view packet);
/// nullopt: no answer to a status request. Members that are absent or of a wrong kind have their defaults.
std::optional<JobStatus> decode_status(std::string_view packet);

std::string_view job_state_name(JobState state);
std::string_view window_stage_name(WindowStage stage);

}  // namespace eroica
