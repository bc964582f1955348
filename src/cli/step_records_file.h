#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "steps/step_record.h"

namespace eroica {

/// Records of one job, in the order in which they came in.
struct RecordedSteps {
  std::string job;  ///< its id; where the file names none, the file's name
  struct Arrival {
    StepRecord record;
    int64_t now_ns = 0;  ///< by one clock for all ranks
  };
  std::vector<Arrival> arrivals;
  std::optional<int64_t> onset_step;  ///< where the file says that a fault began
  bool healthy = false;               ///< the file says that there was none
  std::vector<std::string> problems;
};

/// The files that are meant: those of step records that were kept in a folder (kept_records.h), in the order of time,
/// where it holds any and no steps.json; else what was given.
std::vector<std::string> step_record_files(const std::string& given);

/// Reads a file of step records as eroica keeps them (record_log.h), or JSON with "step_seconds": one list of step
/// times a rank, and perhaps "onset_step" (null: healthy throughout), "job" and "fetches" (lists as step_seconds). Of a
/// folder: its steps.json. Errors: kNotFound, kUnreadable, kNotATrace.
Result<RecordedSteps> read_recorded_steps(const std::string& path);

/// The same of a file's content; `name` is for messages.
Result<RecordedSteps> parse_recorded_steps(std::string_view bytes, const std::string& name);

}  // namespace eroica
