#include "coordinator/change.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace eroica {
namespace {

bool matches(std::string_view pattern, std::string_view job) {
  if (pattern.ends_with('*')) return job.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == job;
}

}  // namespace

bool concerns(const Change& change, std::string_view tenant, std::string_view job) {
  if (!change.tenant.empty() && change.tenant != tenant) return false;
  return change.jobs.empty() ||
         std::ranges::any_of(change.jobs, [&](const std::string& pattern) { return matches(pattern, job); });
}

std::vector<NearChange> changes_near(const Incident& incident, std::span<const Change> changes, int64_t before_ns,
                                     size_t most) {
  const int64_t until_ns = std::max(incident.onset_unix_ns, incident.detected_unix_ns);
  std::vector<NearChange> near;
  for (const Change& change : changes) {
    if (change.incident != 0 || !concerns(change, incident.tenant, incident.job)) continue;
    if (change.unix_ns < incident.onset_unix_ns - before_ns || change.unix_ns > until_ns) continue;
    near.push_back({change, static_cast<double>(incident.onset_unix_ns - change.unix_ns) * 1e-9});
  }
  const auto distance = [](const NearChange& one) {
    return std::make_pair(std::abs(one.before_onset_s), one.change.id);
  };
  std::ranges::sort(near, {}, distance);
  if (near.size() > most) near.resize(most);
  return near;
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRight:
      return "right";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kOtherCause:
      return "other_cause";
  }
  return "";
}

}  // namespace eroica
