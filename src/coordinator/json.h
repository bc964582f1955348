#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/change.h"
#include "coordinator/incident.h"
#include "coordinator/job_record.h"
#include "coordinator/observation.h"
#include "coordinator/period_report.h"

namespace eroica {

// The values of this stage as JSON, for the store and for whoever asks; docs/openapi.json says what each holds. What is
// read was written by others: never throws, every list and text is bounded. Errors: kInvalid.

inline constexpr size_t kMostObservations = 1000;
inline constexpr int kMostJsonDepth = 64;

/// One message of a sender.
struct ObservationBatch {
  std::string sender;  ///< its id, new each time it starts
  std::vector<Observation> observations;
};
Result<ObservationBatch> parse_observations(std::string_view text);
std::string to_text(const ObservationBatch& batch);

nlohmann::ordered_json to_json(const Incident& incident);
Result<Incident> parse_incident(std::string_view text);
/// A line of a list: without claims but for the surest, and without windows.
nlohmann::ordered_json summary_json(const Incident& incident);

/// `with_hosts`: each host's own words too.
nlohmann::ordered_json to_json(const JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy, bool with_hosts);

nlohmann::ordered_json to_json(const Change& change);
nlohmann::ordered_json to_json(const NearChange& near);
/// Takes all but id and tenant. `now_unix_ns`: where it names no time.
Result<Change> parse_change(std::string_view text, int64_t now_unix_ns);

nlohmann::ordered_json to_json(const Feedback& feedback);
/// Takes verdict, cause and text.
Result<Feedback> parse_feedback(std::string_view text);

nlohmann::ordered_json to_json(const PeriodReport& report);

/// What a diagnosis document claims. Error kInvalid: it is none.
Result<DocumentTold> parse_document(std::string_view text);

/// Text of a value, whatever its bytes. In one line.
std::string text_of(const nlohmann::ordered_json& json);
/// Does it parse with no more than kMostJsonDepth levels?
bool is_shallow(std::string_view text);

}  // namespace eroica
