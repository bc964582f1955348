#include "steps/detector.h"

#include <algorithm>
#include <span>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr int32_t kMostVotes = 50;
constexpr int32_t kSureVotes = 20;
constexpr uint32_t kStepsToCountRanks = 10;  ///< after a restart

constexpr int64_t kLatestUnixNs = int64_t{1} << 62;

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

BlockedPolicy blocked_policy(const Policy& policy) {
  if (policy.method == DetectorMethod::kFull) return policy.blocked;
  BlockedPolicy published = published_blocked_policy();
  published.enabled = policy.blocked.enabled;
  return published;
}

std::vector<DetectorReason> reasons(const SlowFinding& finding) {
  std::vector<DetectorReason> why = {
      {"median step since the onset", finding.level_ms, "ms"},
      {"median step while healthy", finding.baseline_ms, "ms"},
      {"time lost", finding.excess_ms, "ms_per_step"},
      {"steps that it was told from", static_cast<double>(finding.steps), "count"},
      {"healthy steps that they were compared with", static_cast<double>(finding.healthy_steps), "count"},
  };
  if (finding.standard_errors > 0) why.push_back({"standard errors above chance", finding.standard_errors, "count"});
  if (finding.period_steps > 0) why.push_back({"steps from stall to stall", finding.period_steps, "count"});
  return why;
}

std::vector<DetectorReason> reasons(const BlockedFinding& finding) {
  return {{"nothing came for", finding.silent_s, "s"},
          {"allowed", finding.allowed_s, "s"},
          {"mean step", finding.mean_step_s, "s"},
          {"longest pause while healthy", finding.longest_pause_s, "s"}};
}

}  // namespace

std::string_view detector_event_name(DetectorEvent::Kind kind) {
  switch (kind) {
    case DetectorEvent::Kind::kSlow:
      return "slow";
    case DetectorEvent::Kind::kStillSlow:
      return "still_slow";
    case DetectorEvent::Kind::kRecovered:
      return "recovered";
    case DetectorEvent::Kind::kBlocked:
      return "blocked";
    case DetectorEvent::Kind::kUnblocked:
      return "unblocked";
    case DetectorEvent::Kind::kBaseline:
      return "baseline";
    case DetectorEvent::Kind::kRequested:
      return "requested";
  }
  return "";
}

Detector::Detector(Policy policy, const std::string& job, int64_t start_ns)
    : policy_(std::move(policy)),
      job_(job),
      slow_(policy_.slow),
      blocked_(blocked_policy(policy_), start_ns),
      budget_(policy_.window, policy_.eligible, is_eligible(policy_.eligible, job)),
      now_ns_(start_ns) {}

DetectorEvent Detector::event(DetectorEvent::Kind kind) const {
  return {.kind = kind, .now_ns = now_ns_, .unix_ns = now_ns_ + unix_offset_ns_, .step = step_};
}

void Detector::mask(int64_t from_ns, int64_t to_ns) {
  masked_from_ns_ = from_ns;
  masked_to_ns_ = to_ns + nanoseconds(policy_.window.tail_s);
  blocked_.mask(masked_from_ns_, masked_to_ns_);
}

bool Detector::masked(const JobStep& step) const {
  return step.now_ns > masked_from_ns_ && step.now_ns - nanoseconds(step.seconds) < masked_to_ns_;
}

bool Detector::holds_evaluation(const JobStep& step) {
  const bool as_usual = step.fetches == usual_fetches_;
  if (as_usual) {
    fetch_votes_ = std::min(fetch_votes_ + 1, kMostVotes);
  } else if (--fetch_votes_ < 0) {
    usual_fetches_ = step.fetches;
    fetch_votes_ = 1;
  }
  return fetch_votes_ >= kSureVotes && step.fetches > usual_fetches_ + usual_fetches_ / 2 + 1;
}

void Detector::observe(const StepRecord& told, int64_t now_ns, std::vector<DetectorEvent>& events) {
  now_ns_ = std::max(now_ns_, now_ns);
  StepRecord record = told;
  record.unix_ns = std::clamp(told.unix_ns, int64_t{0}, kLatestUnixNs);  // what ranks tell may be anything
  unix_offset_ns_ = record.unix_ns - now_ns_;
  if (blocked_.observe(record, now_ns_) == BlockedDetector::Change::kRecovered) {
    events.push_back(event(DetectorEvent::Kind::kUnblocked));
  }
  done_.clear();
  series_.push(record, now_ns_, done_);
  if (series_.restarts() != restarts_) note_restart(events);
  for (const JobStep& step : done_) take(step, events);
}

void Detector::note_restart(std::vector<DetectorEvent>& events) {
  restarts_ = series_.restarts();
  ranks_before_ = ranks_;
  steps_since_restart_ = 0;
  slow_.restart(true);
  published_.restart();
  if (is_slow_) events.push_back(event(DetectorEvent::Kind::kRecovered));
  is_slow_ = false;
}

void Detector::take(const JobStep& step, std::vector<DetectorEvent>& events) {
  step_ = step.number;
  ranks_ = step.ranks;
  ++steps_since_restart_;
  if (ranks_before_ != 0 && steps_since_restart_ == kStepsToCountRanks && ranks_ != ranks_before_) slow_.restart(false);
  const bool evaluation = holds_evaluation(step);
  if (masked(step)) return;
  blocked_.step(step.seconds);
  const bool full = policy_.method == DetectorMethod::kFull;
  if (full && evaluation) return;

  const SlowDetector::Change change = full ? slow_.push(step) : published_.push(step);
  if (change == SlowDetector::Change::kSlow) add_slow(full ? slow_.finding() : published_.finding(), events);
  if (change == SlowDetector::Change::kRecovered) {
    is_slow_ = false;
    events.push_back(event(DetectorEvent::Kind::kRecovered));
  }
  maybe_owed_window(events);
  maybe_baseline(events);
}

void Detector::ask_for_window(DetectorEvent& found, WindowBudget::Reason reason) {
  const double step_s = std::max(step_seconds(), found.slow.level_ms * 1e-3);
  const double wanted_s = window_length_s(step_s, found.slow.stall_spacing_s, policy_.window.length_s);
  const WindowGrant grant = budget_.ask(now_ns_, found.unix_ns, reason, wanted_s);
  found.denied = grant.denied;
  found.window = grant.denied == WindowDenial::kNone;
  found.window_s = grant.length_s;
}

void Detector::add_slow(const SlowFinding& finding, std::vector<DetectorEvent>& events) {
  is_slow_ = true;
  DetectorEvent found = event(DetectorEvent::Kind::kSlow);
  found.slow = finding;
  found.why = reasons(finding);
  const auto reason = finding.worse ? WindowBudget::Reason::kUrgent : WindowBudget::Reason::kAlarm;
  ask_for_window(found, reason);
  owes_window_ = !found.window && found.denied != WindowDenial::kJob;
  told_ = finding;
  events.push_back(std::move(found));
}

void Detector::add_blocked(std::vector<DetectorEvent>& events) {
  DetectorEvent found = event(DetectorEvent::Kind::kBlocked);
  found.blocked = blocked_.finding();
  found.why = reasons(found.blocked);
  events.push_back(std::move(found));
}

void Detector::maybe_owed_window(std::vector<DetectorEvent>& events) {
  if (!is_slow_ || !owes_window_) return;
  DetectorEvent found = event(DetectorEvent::Kind::kStillSlow);
  found.slow = told_;
  ask_for_window(found, WindowBudget::Reason::kAlarm);
  if (!found.window) return;
  owes_window_ = false;
  found.why = reasons(told_);
  events.push_back(std::move(found));
}

void Detector::maybe_baseline(std::vector<DetectorEvent>& events) {
  const BaselinePolicy& baseline = policy_.baseline;
  if (baselines_ >= baseline.count || is_slow_ || slow_.phase() != SlowDetector::Phase::kWatching) return;
  if (slow_.healthy_steps() < baseline.after_steps) return;
  if (baselines_ > 0 && now_ns_ - baseline_ns_ < nanoseconds(baseline.spacing_s)) return;
  DetectorEvent found = event(DetectorEvent::Kind::kBaseline);
  ask_for_window(found, WindowBudget::Reason::kBaseline);
  if (!found.window) return;
  ++baselines_;
  baseline_ns_ = now_ns_;
  events.push_back(std::move(found));
}

void Detector::tick(int64_t now_ns, std::vector<DetectorEvent>& events) {
  now_ns_ = std::max(now_ns_, now_ns);
  const BlockedDetector::Change change = blocked_.tick(series_.ranks(), now_ns_);
  if (change == BlockedDetector::Change::kBlocked) add_blocked(events);
  if (change == BlockedDetector::Change::kRecovered) events.push_back(event(DetectorEvent::Kind::kUnblocked));
}

void Detector::begin_again(int64_t now_ns) {
  Detector fresh(policy_, job_, now_ns);
  fresh.budget_ = budget_;
  fresh.baselines_ = baselines_;
  fresh.baseline_ns_ = baseline_ns_;
  fresh.masked_from_ns_ = masked_from_ns_;
  fresh.masked_to_ns_ = masked_to_ns_;
  fresh.blocked_.mask(masked_from_ns_, masked_to_ns_);
  *this = std::move(fresh);
}

double Detector::step_seconds() const {
  std::vector<double> all;
  for (const RankState& rank : series_.ranks()) {
    if (!rank.left) all.push_back(rank.seconds);
  }
  return median_in_place(std::span(all));
}

std::vector<RankSkew> Detector::skew() const {
  const double middle = step_seconds();
  int64_t newest = 0;
  for (const RankState& rank : series_.ranks()) {
    if (!rank.left) newest = std::max(newest, rank.step);
  }
  std::vector<RankSkew> skew;
  skew.reserve(series_.ranks().size());
  for (const RankState& rank : series_.ranks()) {
    if (rank.left) continue;
    skew.push_back({.rank = rank.rank,
                    .step_ms = rank.seconds * 1e3,
                    .step_excess_ms = (rank.seconds - middle) * 1e3,
                    .data_wait_ms = rank.data_wait_seconds * 1e3,
                    .steps_behind = newest - rank.step});
  }
  return skew;
}

}  // namespace eroica
