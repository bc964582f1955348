#include "cli/policy_replay.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr double kTickNs = 1e9;
constexpr double kMostTicks = 10'000;  ///< within one pause

bool is_alarm(const DetectorEvent& event) {
  return event.kind == DetectorEvent::Kind::kSlow || event.kind == DetectorEvent::Kind::kBlocked;
}

/// Between two ticks of a pause.
double spacing_ns(double pause_ns) { return std::max(kTickNs, pause_ns / kMostTicks); }

void tick_through(Detector& detector, int64_t from_ns, int64_t to_ns, std::vector<DetectorEvent>& events) {
  const double pause = static_cast<double>(to_ns) - static_cast<double>(from_ns);
  const double spacing = spacing_ns(pause);
  for (double at = spacing; at < pause; at += spacing) detector.tick(from_ns + static_cast<int64_t>(at), events);
}

/// When the step ended on the rank that was first with it.
double end_of_step_s(const RecordedSteps& steps, int64_t number) {
  for (const RecordedSteps::Arrival& arrival : steps.arrivals) {
    if (arrival.record.step >= number) return static_cast<double>(arrival.now_ns) * 1e-9;
  }
  return static_cast<double>(steps.arrivals.back().now_ns) * 1e-9;
}

void judge(const RecordedSteps& steps, ReplayOutcome& outcome) {
  for (size_t i = 0; i < outcome.events.size(); ++i) {
    const DetectorEvent& event = outcome.events[i];
    if (!is_alarm(event)) continue;
    ++outcome.alarms;
    if (!outcome.judged) continue;
    if (!outcome.onset_step || event.step < *outcome.onset_step) {
      ++outcome.false_alarms;
    } else if (!outcome.delay_steps) {
      const double start = static_cast<double>(steps.arrivals.front().now_ns) * 1e-9;
      outcome.delay_steps = event.step - *outcome.onset_step;
      outcome.delay_s = std::max(0.0, outcome.at_s[i] - (end_of_step_s(steps, *outcome.onset_step) - start));
      outcome.lost_until_told_s =
          event.kind == DetectorEvent::Kind::kBlocked
              ? event.blocked.silent_s
              : std::max(0.0, event.slow.excess_ms) * static_cast<double>(*outcome.delay_steps + 1) * 1e-3;
    }
  }
}

}  // namespace

double replay_looks(const RecordedSteps& steps) {
  double ticks = 0;
  std::set<int32_t> ranks;
  int64_t now_ns = steps.arrivals.front().now_ns;
  for (const RecordedSteps::Arrival& arrival : steps.arrivals) {
    const double pause = static_cast<double>(arrival.now_ns) - static_cast<double>(now_ns);
    ticks += pause / spacing_ns(pause);
    now_ns = arrival.now_ns;
    ranks.insert(arrival.record.rank);
  }
  return ticks * static_cast<double>(ranks.size());
}

ReplayOutcome replay(const RecordedSteps& steps, const std::string& file, const Policy& policy) {
  ReplayOutcome outcome;
  outcome.file = file;
  outcome.job = steps.job;
  outcome.onset_step = steps.onset_step;
  outcome.judged = steps.onset_step.has_value() || steps.healthy;

  const int64_t start_ns = steps.arrivals.front().now_ns;
  Detector detector(policy, steps.job, start_ns);
  int64_t now_ns = start_ns;
  int64_t first = steps.arrivals.front().record.step;
  int64_t last = first;
  for (const RecordedSteps::Arrival& arrival : steps.arrivals) {
    tick_through(detector, now_ns, arrival.now_ns, outcome.events);
    now_ns = arrival.now_ns;
    detector.observe(arrival.record, now_ns, outcome.events);
    first = std::min(first, arrival.record.step);
    last = std::max(last, arrival.record.step);
  }
  outcome.steps = last - first + 1;
  outcome.seconds = static_cast<double>(now_ns - start_ns) * 1e-9;
  for (const DetectorEvent& event : outcome.events) {
    outcome.at_s.push_back(static_cast<double>(event.now_ns - start_ns) * 1e-9);
    if (!event.window) continue;
    ++outcome.windows;
    outcome.profiled_s += event.window_s;
  }
  outcome.lost_to_windows_s = outcome.profiled_s * policy.window.slows_percent / (100 + policy.window.slows_percent);
  judge(steps, outcome);
  return outcome;
}

ReplayTotal total_of(const std::vector<ReplayOutcome>& outcomes) {
  ReplayTotal total;
  std::vector<double> delays;
  for (const ReplayOutcome& outcome : outcomes) {
    ++total.jobs;
    total.steps += outcome.steps;
    if (outcome.judged) total.healthy_steps += std::min(outcome.onset_step.value_or(outcome.steps), outcome.steps);
    if (outcome.onset_step) ++total.faulty;
    if (outcome.delay_steps) {
      ++total.told;
      delays.push_back(static_cast<double>(*outcome.delay_steps));
    }
    total.false_alarms += outcome.false_alarms;
    total.windows += outcome.windows;
    total.profiled_s += outcome.profiled_s;
    total.lost_to_windows_s += outcome.lost_to_windows_s;
  }
  total.median_delay_steps = median(delays);
  total.worst_delay_steps = delays.empty() ? 0 : std::ranges::max(delays);
  return total;
}

}  // namespace eroica
