#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/incident.h"

namespace eroica {

/// Something that somebody changed: a configuration, a driver, a node; or what was done against an incident.
struct Change {
  int64_t id = 0;
  std::string tenant;  ///< empty: of the cluster, seen by all
  int64_t unix_ns = 0;
  std::string who;
  std::string what;
  std::vector<std::string> jobs;  ///< ids; "name*" matches a prefix; none: all
  std::string url;                ///< of a ticket or a commit; empty: none
  int64_t incident = 0;           ///< the one that it was done against; 0: none
};

/// A change beside the onset of an incident.
struct NearChange {
  Change change;
  double before_onset_s = 0;  ///< negative: after it
};

/// Changes that may be behind an incident: of its job and tenant, from `before_ns` before its onset until its
/// detection. The nearest to the onset first, at most `most`.
std::vector<NearChange> changes_near(const Incident& incident, std::span<const Change> changes, int64_t before_ns,
                                     size_t most);

bool concerns(const Change& change, std::string_view tenant, std::string_view job);

enum class Verdict : uint8_t { kRight, kWrong, kOtherCause };
std::string_view verdict_name(Verdict verdict);  ///< "right", "wrong", "other_cause"

/// What somebody says of an incident's diagnosis.
struct Feedback {
  int64_t incident = 0;
  int64_t unix_ns = 0;
  std::string who;
  Verdict verdict = Verdict::kRight;
  std::string cause;  ///< the true one, with kOtherCause; may be empty
  std::string text;
};

}  // namespace eroica
