#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/incident.h"
#include "coordinator/observation.h"

namespace eroica {

/// What one host's watcher last told.
struct HostView {
  JobStatus status;
  int64_t unix_ns = 0;  ///< when it told anything, by the service's clock
  bool left = false;    ///< the watcher has ended
};

/// A job over all hosts that tell of it.
struct JobRecord {
  std::string tenant;
  std::string job;
  int64_t first_unix_ns = 0;
  int64_t last_unix_ns = 0;
  std::map<std::string, HostView> hosts;  ///< by name; at most kMostHosts
  std::optional<Incident> incident;       ///< the one that is not closed, else the last one
};
/// It has an incident that is not closed.
inline bool has_open_incident(const JobRecord& job) {
  return job.incident && job.incident->state != IncidentState::kClosed;
}
inline constexpr size_t kMostHosts = 16'384;

/// How long things take; docs/service.md.
struct LifePolicy {
  int64_t settle_ns = 120'000'000'000;             ///< well for so long: it is closed
  int64_t merge_ns = 1'800'000'000'000;            ///< trouble again within so long after closing: the same incident
  int64_t silent_ns = 60'000'000'000;              ///< a host of which nothing is heard counts no more
  int64_t lost_ns = 3'600'000'000'000;             ///< … a job: its incident is closed
  int64_t most_recovered_ns = 86'400'000'000'000;  ///< recovered time is counted for so long after the recovery
};

/// How the job stands: the worst of its hosts that are not silent. kEnded: every host has.
JobState job_state(const JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy);
/// Nothing was heard for `silent_ns`, and it did not end.
bool is_silent(const JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy);
/// Ranks over all hosts.
int64_t ranks_of(const JobRecord& job);

struct IncidentEvent {
  enum class Kind : uint8_t { kOpened, kDiagnosed, kReopened, kRecovering, kClosed };
  Kind kind = Kind::kOpened;
  Incident incident;  ///< as it then was
};
std::string_view incident_event_name(IncidentEvent::Kind kind);

/// Takes what a host tells of the job. `next_id`: of incidents, counted up where one is opened; `document`: the id of
/// a DocumentTold. Appends what follows. `now_unix_ns`: by the service's clock; times of hosts that are ahead of it
/// count as now.
void take(JobRecord& job, const Observation& observation, int64_t document, int64_t now_unix_ns,
          const LifePolicy& policy, int64_t& next_id, std::vector<IncidentEvent>& events);

/// Time passes.
void pass(JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy, std::vector<IncidentEvent>& events);

}  // namespace eroica
