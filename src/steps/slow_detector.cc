#include "steps/slow_detector.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr int64_t kLeastSlowSteps = 8;      ///< before a slowdown is told
constexpr double kLargeShift = 0.08;        ///< smaller ones have to last longer,
constexpr double kSmallLasts = 3;           ///< up to so many times
constexpr int64_t kLeastHealthySteps = 20;  ///< before a recovery is
constexpr int64_t kFasterSteps = 100;       ///< that a lower level must last before it becomes the measure
constexpr int64_t kFasterEvery = 25;
constexpr double kLevelErrors = 9;  ///< the best of many levels lies some errors too low by itself
constexpr double kLong = 0.25;
constexpr double kLeastStall = 0.5;  ///< in levels
constexpr double kStallSigmas = 8;
constexpr double kRecoveryOdds = 1e4;  ///< steps between two false recoveries
constexpr double kLongestExcess = 20;  ///< in levels; of one step in what is reported

}  // namespace

std::string_view slow_kind_name(SlowKind kind) {
  switch (kind) {
    case SlowKind::kShift:
      return "shift";
    case SlowKind::kDrift:
      return "drift";
    case SlowKind::kLostTime:
      return "lost_time";
    case SlowKind::kPeriodicStall:
      return "periodic_stall";
  }
  return "";
}

SlowDetector::SlowDetector(const SlowPolicy& policy)
    : policy_(policy), watch_(policy), worse_(policy), level_watch_(policy.level_steps) {}

SlowDetector::Change SlowDetector::push(const JobStep& step) {
  if (!policy_.enabled || !(step.seconds > 0)) return Change::kNone;
  ++place_;
  seen(place_) = {step.seconds, step.number, step.unix_ns, step.now_ns};
  switch (phase_) {
    case Phase::kWarmUp:
      if (place_ - phase_from_ + 1 >= policy_.warm_up_steps) {
        phase_ = watch_.usual().size() < policy_.learn_steps ? Phase::kLearning : Phase::kWatching;
        phase_from_ = place_ + 1;
      }
      return Change::kNone;
    case Phase::kLearning:
      ++healthy_steps_;
      watch_.learn(step.seconds);
      if (watch_.usual().size() >= policy_.learn_steps) {
        for (int64_t place = phase_from_; place <= place_; ++place) watch_.note_order(seen(place).seconds);
        phase_ = Phase::kWatching;
        phase_from_ = place_ + 1;
      }
      return Change::kNone;
    case Phase::kWatching:
      return watch(step.seconds);
    case Phase::kSlow:
      return watch_slow(step.seconds);
  }
  return Change::kNone;
}

void SlowDetector::restart(bool same_ranks) {
  phase_ = Phase::kWarmUp;
  phase_from_ = place_ + 1;
  began_ = place_ + 1;
  stall_watch_.reset();
  watch_.reset();
  level_watch_.restart();
  history_ = {};
  if (same_ranks) return;
  watch_ = UsualWatch(policy_);
  level_watch_ = LevelWatch(policy_.level_steps);
}

SlowDetector::Change SlowDetector::watch(double seconds) {
  ++healthy_steps_;
  watch_.watch(seconds, place_);
  history_.push(seconds, place_);
  level_watch_.push(seconds);

  std::optional<Suspicion> found = suspicion(watch_, policy_.shift_percent / 100, policy_.lost_time_percent / 100);
  const std::optional<Suspicion> regular = stalls(seconds);
  const std::optional<Suspicion> high = level();
  if (!found) found = regular;
  if (!found) found = high;
  if (found) {
    tell(*found, watch_, false);
    return Change::kSlow;
  }
  learn_lagging(watch_, phase_from_);
  review_faster();
  return Change::kNone;
}

SlowDetector::Change SlowDetector::watch_slow(double seconds) {
  history_.push(seconds, place_);
  recovery_.add(recovery_middle_ - watch_.usual().excess(seconds), 0, place_, 2 * recovery_limit_ + 1);
  const int64_t steps = place_ - recovery_.since() + 1;
  const auto periods = static_cast<int64_t>(2.5 * finding_.period_steps);
  if (recovery_.sum() > recovery_limit_ && steps >= std::max(kLeastHealthySteps, periods) && lasts(recovery_.since())) {
    phase_ = Phase::kWatching;
    phase_from_ = place_ + 1;
    watch_.reset();
    stall_watch_.reset();
    level_watch_.restart();
    return Change::kRecovered;
  }
  if (worse_.usual().size() < policy_.learn_steps) {
    worse_.learn(seconds);
    return Change::kNone;
  }
  worse_.watch(seconds, place_);
  if (const std::optional<Suspicion> found =
          suspicion(worse_, policy_.worse_percent / 100, policy_.worse_percent / 100)) {
    tell(*found, worse_, true);
    return Change::kSlow;
  }
  learn_lagging(worse_, phase_from_ + policy_.learn_steps);
  return Change::kNone;
}

void SlowDetector::learn_lagging(UsualWatch& watch, int64_t not_before) {
  const int64_t place = place_ - kLag;
  if (place < not_before || !watch.looks_usual(place)) return;
  watch.note_order(seen(place).seconds);
  watch.learn(seen(place).seconds);
}

void SlowDetector::review_faster() {
  const int64_t since = place_ - phase_from_ + 1;
  if (since < kFasterSteps || since % kFasterEvery != 0) return;
  const double usual = watch_.usual().level();
  const double least = std::max(usual * policy_.shift_percent / 100, 4 * watch_.level_error(kFasterSteps / 2));
  const int64_t from = place_ - kFasterSteps + 1;
  const int64_t half = place_ - kFasterSteps / 2;
  if (usual - median_between(from, half) < least || usual - median_between(half + 1, place_) < least) return;
  watch_ = UsualWatch(policy_);
  for (int64_t place = from; place <= place_; ++place) watch_.learn(seen(place).seconds);
  for (int64_t place = from; place <= place_; ++place) watch_.note_order(seen(place).seconds);
  phase_from_ = place_ + 1;
}

std::optional<SlowDetector::Suspicion> SlowDetector::suspicion(const UsualWatch& watch, double least_shift,
                                                               double least_lost) const {
  const double level = watch.usual().level();
  if (watch.shift().sum() >= watch.shift_limit()) {
    const int64_t onset = refined_onset(watch, watch.shift().since());
    const int64_t steps = place_ - onset + 1;
    const int64_t late = place_ - std::max(kLeastSlowSteps, steps / 4) + 1;
    const double rise = median_between(std::max(onset, place_ - 49), place_) / level - 1;
    if (rise >= least_shift && lasts(onset, std::clamp(kLargeShift / rise, 1.0, kSmallLasts)) &&
        median_between(std::max(late, place_ - 15), place_) >= level * (1 + least_shift)) {
      return Suspicion{SlowKind::kShift, onset};
    }
  }
  for (const auto& [sum, limit] : {std::pair(watch.frequency().sum(), watch.frequency().limit()),
                                   std::pair(watch.lost().sum(), watch.lost().limit())}) {
    if (sum.sum() < limit) continue;
    const int64_t onset = lost_time_onset(watch.usual(), sum.since(), least_lost);
    if (lasts(onset)) return Suspicion{SlowKind::kLostTime, onset};
  }
  return std::nullopt;
}

int64_t SlowDetector::lost_time_onset(const StepReference& usual, int64_t since, double least) const {
  int64_t onset = std::max(since, oldest());
  while (onset < place_ && usual.excess(seen(onset).seconds) < kLong) ++onset;
  // It must have gone on until now.
  const int64_t half = onset + (place_ - onset) / 2;
  double sum = 0;
  double late_sum = 0;
  for (int64_t place = onset; place <= place_; ++place) {
    const double excess = usual.excess(seen(place).seconds) - usual.mean_excess();
    sum += excess;
    if (place > half) late_sum += excess;
  }
  const bool enough = sum >= least * static_cast<double>(place_ - onset + 1) &&
                      late_sum >= least / 2 * static_cast<double>(place_ - half);
  return enough ? onset : place_;
}

std::optional<SlowDetector::Suspicion> SlowDetector::stalls(double seconds) {
  const double usual = watch_.usual().level();
  const double least = std::max(kLeastStall, kStallSigmas * watch_.usual().sigma() / usual);
  const double excess = seconds / usual - 1;
  stall_watch_.push(place_, excess, least);
  if (excess < least) return std::nullopt;
  const std::optional<StallTrain> train = stall_watch_.train();
  if (!train || !lasts(train->first)) return std::nullopt;
  // Other long steps among them may hide that the same stalls came before as well: then as much time was lost.
  const auto before = static_cast<double>(train->first - began_);
  const double share = train->lost_share();
  const double early = 1.5 * train->period_steps + policy_.warm_up_steps + policy_.learn_steps;
  const bool from_start = before <= early || train->lost_before >= before * share / 3;
  const double needed = (from_start ? policy_.periodic_from_start_percent : policy_.lost_time_percent) / 100;
  if (share < needed) return std::nullopt;
  if (!from_start && train->chance(before) * policy_.false_alarm_every_steps > 1) return std::nullopt;
  return Suspicion{SlowKind::kPeriodicStall, train->first, train->period_steps};
}

std::optional<SlowDetector::Suspicion> SlowDetector::level() {
  if (!level_watch_.renewed()) return std::nullopt;
  const double rise = level_watch_.level() - level_watch_.best();
  const double needed = std::max(level_watch_.best() * policy_.level_rise_percent / 100,
                                 kLevelErrors * watch_.level_error(policy_.level_steps));
  if (rise <= needed || !std::isfinite(rise)) {
    if (watch_.looks_usual(place_)) level_watch_.keep_as_best();
    return std::nullopt;
  }
  const int64_t onset = std::max({oldest(), phase_from_, place_ - int64_t{policy_.level_steps} + 1});
  return Suspicion{SlowKind::kDrift, onset};
}

int64_t SlowDetector::refined_onset(const UsualWatch& watch, int64_t since) const {
  // Where a sum that leans half way to the present score is highest, counted backwards.
  const int64_t from = std::max(since, oldest());
  const auto score = [&](int64_t place) { return watch.usual().score(seen(place).seconds); };
  const int64_t recent = std::max(from, place_ - 19);
  double mean = 0;
  for (int64_t place = recent; place <= place_; ++place) mean += score(place);
  mean /= static_cast<double>(place_ - recent + 1);
  double sum = 0;
  double best = 0;
  int64_t onset = place_;
  for (int64_t place = place_; place >= from; --place) {
    sum += score(place) - mean / 2;
    if (sum > best) {
      best = sum;
      onset = place;
    }
  }
  return onset;
}

double SlowDetector::median_between(int64_t from, int64_t to) const {
  std::array<double, kRing> values{};
  size_t count = 0;
  for (int64_t place = std::max(from, oldest()); place <= to; ++place) values[count++] = seen(place).seconds;
  return median_in_place(std::span(values).first(count));
}

double SlowDetector::stall_spacing_s(int64_t onset) const {
  double since_first_s = 0;
  double until_last_s = 0;
  int stalls = 0;
  int64_t last = 0;
  for (int64_t place = onset; place <= place_; ++place) {
    const bool is_long = watch_.usual().excess(seen(place).seconds) >= kLong;
    if (is_long && (stalls == 0 || place - last > 2)) {
      ++stalls;
      until_last_s = since_first_s;
    }
    if (is_long) last = place;
    if (stalls > 0) since_first_s += seen(place).seconds;
  }
  return stalls < 2 ? since_first_s : until_last_s / (stalls - 1);
}

bool SlowDetector::lasts(int64_t onset, double times) const {
  const Seen& first = seen(std::max(onset, oldest()));
  const double seconds = static_cast<double>(seen(place_).now_ns - first.now_ns) * 1e-9 + first.seconds;
  return place_ - onset + 1 >= kLeastSlowSteps && seconds >= times * policy_.least_lasting_s;
}

void SlowDetector::tell(const Suspicion& suspicion, const UsualWatch& watch, bool worse) {
  const StepReference& usual = watch_.usual();
  const double level = usual.level();
  const int64_t onset = std::max(suspicion.onset, oldest());
  const auto steps = static_cast<double>(place_ - onset + 1);
  double capped = 0;
  double squares = 0;
  double lost = 0;
  for (int64_t place = onset; place <= place_; ++place) {
    const double excess = usual.excess(seen(place).seconds);
    capped += excess;
    squares += excess * excess;
    lost += std::min(seen(place).seconds / level - 1, kLongestExcess);
  }
  const double mean = capped / steps;

  finding_ = {.kind = suspicion.kind,
              .worse = worse,
              .onset_step = seen(onset).number,
              .onset_unix_ns = seen(onset).unix_ns,
              .level_ms = median_between(onset, place_) * 1e3,
              .baseline_ms = level * 1e3,
              .excess_ms = (lost / steps - usual.mean_excess()) * level * 1e3,
              .baseline_mean_ms = usual.mean_seconds() * 1e3,
              .period_steps = suspicion.period_steps,
              .steps = static_cast<uint32_t>(steps),
              .healthy_steps = static_cast<uint32_t>(watch.usual().size())};
  if (suspicion.kind == SlowKind::kLostTime || suspicion.kind == SlowKind::kPeriodicStall) {
    finding_.stall_spacing_s = stall_spacing_s(onset);
  }
  if (suspicion.kind == SlowKind::kShift || suspicion.kind == SlowKind::kDrift) {
    const LevelHistory::Ramp ramp = history_.ramp();
    finding_.kind = ramp.gradual && !worse ? SlowKind::kDrift : SlowKind::kShift;
    if (finding_.kind == SlowKind::kDrift && ramp.from < onset) {
      const auto earlier = static_cast<double>(onset - ramp.from);
      finding_.onset_step -= onset - ramp.from;
      finding_.onset_unix_ns -= static_cast<int64_t>(earlier * level * 1e9);
    }
  }
  const double sample = 1 / std::sqrt(static_cast<double>(finding_.healthy_steps));
  finding_.standard_errors = std::max(0.0, mean - usual.mean_excess()) * level / watch.level_error(finding_.steps);
  finding_.confidence = 1 - (0.06 + sample) * (0.3 + 0.7 * std::exp(-finding_.standard_errors / 10));

  const double excess = std::max(mean - usual.mean_excess(), policy_.shift_percent / 200);
  const double variance = std::max(squares / steps - mean * mean, usual.sigma_excess() * usual.sigma_excess());
  recovery_ = {};
  recovery_middle_ = usual.mean_excess() + 0.4 * excess;
  recovery_limit_ = std::log(kRecoveryOdds) * variance / (0.8 * excess);

  phase_ = Phase::kSlow;
  phase_from_ = place_ + 1;
  worse_ = UsualWatch(policy_);
}

}  // namespace eroica
