#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "coordinator/change.h"
#include "coordinator/incident.h"

namespace eroica {

struct Delays {
  size_t count = 0;  ///< incidents of which it is known
  double median_s = 0;
  double p90_s = 0;
};

struct CategoryCount {
  size_t incidents = 0;
  double lost_gpu_s = 0;
  double recovered_gpu_s = 0;
};

/// One stretch of the period: how good diagnoses were, by those who said so.
struct Precision {
  int64_t from_unix_ns = 0;
  size_t incidents = 0;
  size_t diagnosed = 0;
  size_t judged = 0;  ///< diagnosed ones with feedback
  size_t right = 0;
};

/// A host, link or other component that more than one incident points at.
struct Recurring {
  std::string kind;  ///< "host" or "component"
  std::string name;
  size_t incidents = 0;
  int64_t last_unix_ns = 0;
  std::map<std::string, size_t> causes;
};

/// What happened between two times, with the denominators.
struct PeriodReport {
  int64_t from_unix_ns = 0;
  int64_t to_unix_ns = 0;
  size_t jobs = 0;  ///< that were seen
  size_t incidents = 0;
  size_t diagnosed = 0;
  size_t unresolved = 0;  ///< not closed at the end of the period
  std::map<std::string, CategoryCount> categories;
  size_t judged = 0;  ///< incidents with feedback
  size_t right = 0;
  size_t other_cause = 0;
  size_t false_alarms = 0;        ///< with "wrong"
  double false_alarms_gpu_s = 0;  ///< that their windows cost
  double interference_gpu_s = 0;  ///< of all
  double lost_gpu_s = 0;
  double recovered_gpu_s = 0;
  Delays to_detection;  ///< these three: since the onset
  Delays to_localisation;
  Delays to_fix;                     ///< until it recovered
  Delays to_action;                  ///< since the detection
  std::vector<Precision> over_time;  ///< a week each, from the first on
  std::vector<Recurring> recurring;  ///< most often first
};

/// Of the incidents that were detected from `from_unix_ns` on and before `to_unix_ns`. Of several verdicts on one
/// incident the last counts. `incidents` and `feedback` in any order; the report does not depend on it.
PeriodReport report_period(std::span<const Incident> incidents, std::span<const Feedback> feedback, size_t jobs,
                           int64_t from_unix_ns, int64_t to_unix_ns);

/// Rows of "measure,category,value" with a head line.
std::string report_csv(const PeriodReport& report);

}  // namespace eroica
