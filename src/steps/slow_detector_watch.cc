#include "steps/slow_detector_watch.h"

#include <algorithm>
#include <cmath>

namespace eroica {
namespace {

// A sample of m healthy steps knows their distribution to about 1/√m; that much is forgiven each step.
constexpr double kScoreAllowance = 0.1;
constexpr double kSampleErrors = 1.2;
constexpr double kLeastShiftLimit = 7;  ///< three steps beyond all healthy ones are none yet
constexpr double kLong = 0.25;          ///< a step that is so much longer than the level belongs to a stall
constexpr double kLeastStall = 0.15;    ///< in levels
constexpr double kStallSigmas = 6;
constexpr double kFrequentStalls = 0.06;  ///< of steps
constexpr uint64_t kLimitsAge = 32;       ///< changes of the sample between two computations of the limits
constexpr double kMostOfLimit = 1.2;      ///< so that a sum is soon below its limit once steps are as usual again
constexpr double kPriorBlocks = 8;
constexpr double kPriorPairs = 5;

}  // namespace

void VarianceInflation::add(double value) {
  products_ += (value - single_.mean) * (last_ - single_.mean);
  last_ = value;
  single_.add(value);
  block_ += value;
  if (++in_block_ < kBlock) return;
  blocks_.add(block_ / kBlock);
  block_ = 0;
  in_block_ = 0;
}

double VarianceInflation::value() const {
  if (single_.n < 2 || single_.squares <= 0) return (1 + prior_) / (1 - prior_);
  const double variance = single_.squares / (single_.n - 1);
  // As of a first-order process, until whole blocks can be compared; what few steps say of it is too little by
  // (1 + 4 r) / n on average and uncertain by about 1 / √n.
  const double seen = (products_ / variance + kPriorPairs * prior_) / (single_.n + kPriorPairs);
  const double doubt =
      (1 + 4 * std::max(0.0, seen)) / single_.n + std::sqrt(std::max(0.0, 1 - seen * seen) / single_.n);
  const double correlation = std::clamp(seen + (doubted_ ? doubt : 0), 0.0, 0.9);
  const double of_pairs = (1 + correlation) / (1 - correlation);
  if (blocks_.n < 2) return of_pairs;
  const double of_blocks = kBlock * (blocks_.squares / (blocks_.n - 1)) / variance;
  return std::max(of_pairs, (of_blocks * blocks_.n + of_pairs * kPriorBlocks) / (blocks_.n + kPriorBlocks));
}

bool StallStarts::push(const StepReference& usual, double seconds) {
  const double least = std::max(kLeastStall * usual.level(), kStallSigmas * usual.sigma());
  if (seconds - usual.level() < least) {
    since_ = std::min(since_ + 1, 2U);
    return false;
  }
  const bool starts = since_ >= 2;
  since_ = 0;
  return starts;
}

void StallFrequencyWatch::note_order(const StepReference& usual, double seconds) {
  const bool starts = learned_.push(usual, seconds);
  steps_ += 1;
  stalls_ += starts ? 1 : 0;
  inflation_.add(starts ? 1 : 0);
}

void StallFrequencyWatch::set_limit(const SlowPolicy& policy) {
  // As often as they may come if one more than was seen belongs to the healthy steps, and how often they would have to.
  const double usual = std::min(0.5, (stalls_ + 1) / (steps_ + 1));
  const double much = std::min(0.75, std::max(kFrequentStalls, 3 * usual));
  stall_ = std::log(much / usual);
  no_stall_ = std::log((1 - usual) / (1 - much));
  limit_ = std::log(policy.false_alarm_every_steps) * inflation_.value();
}

void StallFrequencyWatch::watch(const StepReference& usual, double seconds, int64_t place) {
  sum_.add(watched_.push(usual, seconds) ? stall_ + no_stall_ : 0, no_stall_, place, kMostOfLimit * limit_);
}

void LostTimeWatch::set_limit(const StepReference& usual, const SlowPolicy& policy) {
  std::vector<float> values;
  values.reserve(usual.size());
  for (const float seconds : usual.sorted()) {
    values.push_back(static_cast<float>(usual.excess(static_cast<double>(seconds))));
  }
  const double error = usual.sigma_excess() / std::sqrt(static_cast<double>(usual.size()));
  allowance_ = usual.mean_excess() + policy.lost_time_percent / 200 + kSampleErrors * error;
  limit_ =
      inflation_.value() * cusum_limit(values, StepReference::kMostExcess, allowance_, policy.false_alarm_every_steps);
}

void LostTimeWatch::watch(const StepReference& usual, double seconds, int64_t place) {
  double excess = usual.excess(seconds);
  if (excess > kLong) {
    excess = std::min(excess, std::max(0.0, StepReference::kMostExcess - charged_));
    charged_ += excess;
    since_long_ = 0;
  } else if (++since_long_ >= 2) {
    charged_ = 0;
  }
  sum_.add(excess, allowance_, place, kMostOfLimit * limit_);
}

void LostTimeWatch::reset() {
  sum_.reset();
  charged_ = 0;
}

void UsualWatch::note_order(double seconds) {
  inflation_.add(usual_.score(seconds));
  lost_.note_order(usual_, seconds);
  frequency_.note_order(usual_, seconds);
}

void UsualWatch::reset() {
  shift_.reset();
  lost_.reset();
  frequency_.reset();
}

bool UsualWatch::looks_usual(int64_t place) const {
  const auto usual = [&](const CumulativeSum& sum, double limit) {
    return sum.sum() < limit / 3 || place < sum.since();
  };
  return usual(shift_, shift_limit_) && usual(lost_.sum(), lost_.limit()) &&
         usual(frequency_.sum(), frequency_.limit());
}

double UsualWatch::level_error(size_t steps) const {
  constexpr double kMedianToMean = 1.2533;
  return kMedianToMean * usual_.sigma() * std::sqrt(inflation_.value() / static_cast<double>(steps));
}

void UsualWatch::refresh_limits() {
  const size_t size = usual_.size();
  const bool grown = size * 10 >= limits_size_ * 11 && size != limits_size_;
  if (limits_size_ != 0 && !grown && usual_.version() < limits_of_ + kLimitsAge) return;
  limits_of_ = usual_.version();
  limits_size_ = size;

  shift_allowance_ = kScoreAllowance + kSampleErrors / std::sqrt(static_cast<double>(size));
  const double margin = 1 + policy_.shift_percent / 200;
  std::vector<float> values;
  values.reserve(size);
  for (const float seconds : usual_.sorted()) {
    values.push_back(static_cast<float>(usual_.score(static_cast<double>(seconds) / margin)));
  }
  const double unseen = usual_.score(static_cast<double>(usual_.sorted().back()) * 2);
  const double limit = cusum_limit(values, unseen, shift_allowance_, policy_.false_alarm_every_steps);
  shift_limit_ = std::max(kLeastShiftLimit, limit * inflation_.value());
  lost_.set_limit(usual_, policy_);
  frequency_.set_limit(policy_);
}

void UsualWatch::watch(double seconds, int64_t place) {
  refresh_limits();
  shift_.add(usual_.score(seconds / (1 + policy_.shift_percent / 200)), shift_allowance_, place,
             kMostOfLimit * shift_limit_);
  lost_.watch(usual_, seconds, place);
  frequency_.watch(usual_, seconds, place);
}

}  // namespace eroica
