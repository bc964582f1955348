#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/step_records_file.h"
#include "steps/detector.h"

namespace eroica {

/// What a policy would have said of one recorded job.
struct ReplayOutcome {
  std::string file;
  std::string job;
  int64_t steps = 0;
  double seconds = 0;
  std::vector<DetectorEvent> events;
  std::vector<double> at_s;  ///< when each event came, since the first record
  std::optional<int64_t> onset_step;
  bool judged = false;                 ///< the records say whether something was wrong
  uint32_t alarms = 0;                 ///< slow or blocked, also worse
  uint32_t false_alarms = 0;           ///< those before the onset, or of a healthy job
  std::optional<int64_t> delay_steps;  ///< from the onset to the first alarm after it
  double delay_s = 0;
  uint32_t windows = 0;
  double profiled_s = 0;
  double lost_to_windows_s = 0;  ///< training time, by the policy's estimate
  double lost_until_told_s = 0;  ///< training time lost to slow steps until the first right alarm
};

/// How often ranks are looked at in a replay of them: each at each of its seconds. What a replay costs.
double replay_looks(const RecordedSteps& steps);
/// Feeds the records to a detector as they came in.
ReplayOutcome replay(const RecordedSteps& steps, const std::string& file, const Policy& policy);

/// Sums over several jobs.
struct ReplayTotal {
  size_t jobs = 0;
  size_t faulty = 0;  ///< with an onset
  size_t told = 0;    ///< of those
  int64_t steps = 0;
  int64_t healthy_steps = 0;  ///< of healthy jobs, and before onsets
  uint32_t false_alarms = 0;
  double median_delay_steps = 0;
  double worst_delay_steps = 0;
  uint32_t windows = 0;
  double profiled_s = 0;
  double lost_to_windows_s = 0;
};
ReplayTotal total_of(const std::vector<ReplayOutcome>& outcomes);

}  // namespace eroica
