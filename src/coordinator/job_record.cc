#include "coordinator/job_record.h"

#include <algorithm>

namespace eroica {
namespace {

using Kind = IncidentEvent::Kind;

constexpr int64_t kMostGapNs = 120'000'000'000;  // nobody knows what the job did in a longer one

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

bool is_trouble(JobState state) { return state == JobState::kSlow || state == JobState::kBlocked; }

int badness(JobState state) {
  switch (state) {
    case JobState::kUnwatched:
    case JobState::kEnded:
      return 0;
    case JobState::kStarting:
      return 1;
    case JobState::kLearning:
      return 2;
    case JobState::kHealthy:
      return 3;
    case JobState::kSlow:
      return 4;
    case JobState::kBlocked:
      return 5;
  }
  return 0;
}

/// Takes part in what is said of the job.
bool counts(const HostView& host, int64_t now_ns, const LifePolicy& policy) {
  return !host.left && now_ns - host.unix_ns <= policy.silent_ns;
}

bool all_ended(const JobRecord& job) {
  const auto ended = [](const auto& host) { return host.second.status.state == JobState::kEnded; };
  return !job.hosts.empty() && std::ranges::all_of(job.hosts, ended);
}

/// One life of one job, while one observation is taken.
struct Life {
  JobRecord& job;
  const LifePolicy& policy;
  int64_t now_ns;
  std::vector<IncidentEvent>& events;

  Incident& incident() const { return *job.incident; }
  bool has_open() const { return has_open_incident(job); }
  void tell(Kind kind) const { events.push_back({kind, incident()}); }

  /// Counts the time since the last observation: as lost while in trouble, else as recovered.
  void count_time(int64_t at_ns) const {
    if (!job.incident || at_ns <= incident().told_unix_ns) return;
    Incident& one = incident();
    const int64_t gap_ns = std::min(at_ns - one.told_unix_ns, kMostGapNs);
    const double gpu_s = lost_share(one) * static_cast<double>(one.ranks) * seconds(gap_ns);
    const JobState state = job_state(job, now_ns, policy);
    if (one.state == IncidentState::kOpen) {
      if (is_trouble(state)) one.lost_gpu_s += gpu_s;
    } else if (one.recovered_unix_ns > 0 && state == JobState::kHealthy &&
               at_ns - one.recovered_unix_ns <= policy.most_recovered_ns) {
      one.recovered_gpu_s += gpu_s;
    }
    one.told_unix_ns = at_ns;
  }

  void open(TroubleKind kind, int64_t at_ns, int64_t& next_id) const {
    Incident fresh;
    fresh.id = next_id++;
    fresh.tenant = job.tenant;
    fresh.job = job.job;
    fresh.kind = kind;
    fresh.ranks = ranks_of(job);
    fresh.detected_unix_ns = fresh.told_unix_ns = at_ns;
    job.incident = std::move(fresh);
  }

  void close(Resolution resolution, int64_t at_ns) const {
    Incident& one = incident();
    one.state = IncidentState::kClosed;
    one.resolution = resolution;
    one.closed_unix_ns = at_ns;
    tell(Kind::kClosed);
  }

  void reopen() const {
    Incident& one = incident();
    one.state = IncidentState::kOpen;
    one.resolution = Resolution::kNone;
    one.recovered_unix_ns = one.closed_unix_ns = 0;
    ++one.repeats;
  }

  bool closed_lately(int64_t at_ns) const {
    return job.incident && !has_open() && at_ns - incident().closed_unix_ns <= policy.merge_ns;
  }
  bool merges(int64_t at_ns) const {
    return has_open() || (closed_lately(at_ns) && incident().resolution == Resolution::kRecovered);
  }
  /// A job that was started anew under its old name has not ended.
  bool is_afterwards(int64_t at_ns) const {
    return closed_lately(at_ns) && (incident().resolution != Resolution::kEnded || all_ended(job));
  }

  void begin_recovery(int64_t at_ns) const {
    incident().state = IncidentState::kRecovering;
    incident().recovered_unix_ns = at_ns;
    tell(Kind::kRecovering);
  }

  void trouble(const TroubleTold& told, int64_t at_ns, int64_t& next_id) const {
    const int64_t onset_ns = told.onset_unix_ns > 0 ? std::min(told.onset_unix_ns, at_ns) : at_ns;
    const bool known = merges(at_ns);
    Kind event = Kind::kOpened;
    if (!known) {
      open(told.kind, at_ns, next_id);
      incident().onset_unix_ns = onset_ns;
      incident().onset_step = told.step;
    } else if (incident().state != IncidentState::kOpen) {
      reopen();
      event = Kind::kReopened;
    } else {
      ++incident().repeats;
    }
    Incident& one = incident();
    one.kind = told.kind;
    if (one.baseline_ms <= 0) one.baseline_ms = told.baseline_ms;
    one.level_ms = std::max(one.level_ms, told.level_ms);
    if (!known) one.lost_gpu_s += lost_share(one) * static_cast<double>(one.ranks) * seconds(at_ns - onset_ns);
    if (!known || event == Kind::kReopened) tell(event);
  }

  void document(const std::string& host, const DocumentTold& told, int64_t id, int64_t at_ns, int64_t& next_id) const {
    if (!has_open() && (told.healthy || told.claims.empty())) return;
    if (!has_open() && !is_afterwards(at_ns)) {
      open(TroubleKind::kFound, at_ns, next_id);
      incident().onset_unix_ns = at_ns;
      tell(Kind::kOpened);
    }
    Incident& one = incident();
    ++one.documents_count;
    if (told.healthy) {
      std::erase(one.claiming_hosts, host);
      if (one.kind == TroubleKind::kFound && one.state == IncidentState::kOpen && no_host_claims())
        begin_recovery(at_ns);
      return;
    }
    if (told.claims.empty()) return;
    // Of troubles of other kinds the steps say whether they are back.
    const bool recovered = one.state == IncidentState::kRecovering || one.resolution == Resolution::kRecovered;
    if (one.kind == TroubleKind::kFound && recovered) reopen();
    for (const Claim& claim : told.claims) add_claim(claim, id, at_ns);
    if (std::ranges::find(one.claiming_hosts, host) == one.claiming_hosts.end() &&
        one.claiming_hosts.size() < kMostKept) {
      one.claiming_hosts.push_back(host);
    }
    if (one.localised_unix_ns == 0) one.localised_unix_ns = at_ns;
    tell(Kind::kDiagnosed);
  }

  /// A host whose watcher has left will never show a healthy window.
  bool no_host_claims() const {
    return std::ranges::all_of(incident().claiming_hosts, [&](const std::string& name) {
      const auto host = job.hosts.find(name);
      return host != job.hosts.end() && host->second.left;
    });
  }

  void add_claim(const Claim& claim, int64_t document, int64_t at_ns) const {
    for (ToldClaim& told : incident().claims) {
      if (told.claim.cause != claim.cause || told.claim.ranks != claim.ranks ||
          told.claim.component != claim.component) {
        continue;
      }
      told.claim = claim;
      told.last_unix_ns = at_ns;
      told.document = document;
      ++told.times;
      return;
    }
    if (incident().claims.size() < kMostKept) incident().claims.push_back({claim, at_ns, at_ns, 1, document});
  }

  void window(const std::string& host, const WindowTold& told, int64_t at_ns) const {
    if (!has_open()) return;
    Incident& one = incident();
    ++one.windows_count;
    if (told.interference_ms > 0) {
      one.interference_ms += told.interference_ms;
      one.interference_gpu_s += told.interference_ms * 1e-3 * static_cast<double>(told.ranks);
    }
    if (one.windows.size() == kMostKept) one.windows.erase(one.windows.begin());
    one.windows.push_back({host, told, at_ns});
  }

  /// What follows from how the hosts now stand.
  void settle(int64_t at_ns) const {
    if (!has_open()) return;
    Incident& one = incident();
    one.ranks = std::max(one.ranks, ranks_of(job));
    if (all_ended(job)) return close(Resolution::kEnded, at_ns);
    const JobState state = job_state(job, now_ns, policy);
    if (one.state == IncidentState::kRecovering && is_trouble(state)) {
      reopen();
      return tell(Kind::kReopened);
    }
    if (one.state == IncidentState::kOpen && one.kind != TroubleKind::kFound && state == JobState::kHealthy) {
      begin_recovery(at_ns);
    }
    if (one.state == IncidentState::kRecovering && state == JobState::kHealthy &&
        at_ns - one.recovered_unix_ns >= policy.settle_ns) {
      close(Resolution::kRecovered, at_ns);
    }
  }
};

}  // namespace

JobState job_state(const JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy) {
  JobState worst = all_ended(job) ? JobState::kEnded : JobState::kStarting;
  for (const auto& [name, host] : job.hosts) {
    if (counts(host, now_unix_ns, policy) && badness(host.status.state) > badness(worst)) worst = host.status.state;
  }
  return worst;
}

bool is_silent(const JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy) {
  return !all_ended(job) && now_unix_ns - job.last_unix_ns > policy.silent_ns;
}

int64_t ranks_of(const JobRecord& job) {
  int64_t ranks = 0;
  for (const auto& [name, host] : job.hosts) {
    if (!host.left) ranks += host.status.ranks;
  }
  return ranks;
}

std::string_view incident_event_name(Kind kind) {
  switch (kind) {
    case Kind::kOpened:
      return "opened";
    case Kind::kDiagnosed:
      return "diagnosed";
    case Kind::kReopened:
      return "reopened";
    case Kind::kRecovering:
      return "recovering";
    case Kind::kClosed:
      return "closed";
  }
  return "";
}

void take(JobRecord& job, const Observation& observation, int64_t document, int64_t now_unix_ns,
          const LifePolicy& policy, int64_t& next_id, std::vector<IncidentEvent>& events) {
  const auto place = job.hosts.find(observation.host);
  if (place == job.hosts.end() && job.hosts.size() >= kMostHosts) return;
  const Life life{job, policy, now_unix_ns, events};
  const int64_t at_ns = std::min(observation.unix_ns, now_unix_ns);
  life.count_time(at_ns);
  HostView& host = job.hosts[observation.host];
  host.unix_ns = job.last_unix_ns = now_unix_ns;
  host.left = false;
  if (job.first_unix_ns == 0) job.first_unix_ns = now_unix_ns;
  if (const auto* status = std::get_if<StatusTold>(&observation.what)) {
    host.status = status->status;
  } else if (const auto* trouble = std::get_if<TroubleTold>(&observation.what)) {
    host.status.state = trouble->kind == TroubleKind::kBlocked ? JobState::kBlocked : JobState::kSlow;
    life.trouble(*trouble, at_ns, next_id);
  } else if (std::holds_alternative<RecoveryTold>(observation.what)) {
    host.status.state = JobState::kHealthy;
  } else if (const auto* window = std::get_if<WindowTold>(&observation.what)) {
    life.window(observation.host, *window, at_ns);
  } else if (const auto* told = std::get_if<DocumentTold>(&observation.what)) {
    life.document(observation.host, *told, document, at_ns, next_id);
  } else if (std::holds_alternative<WatcherLeft>(observation.what)) {
    host.left = true;
  }
  life.settle(at_ns);
}

void pass(JobRecord& job, int64_t now_unix_ns, const LifePolicy& policy, std::vector<IncidentEvent>& events) {
  const Life life{job, policy, now_unix_ns, events};
  if (!life.has_open() || now_unix_ns - job.last_unix_ns < policy.lost_ns) return;
  life.close(Resolution::kLost, now_unix_ns);
}

}  // namespace eroica
