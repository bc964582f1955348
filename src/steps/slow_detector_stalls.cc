#include "steps/slow_detector_stalls.h"

#include <algorithm>
#include <cmath>

namespace eroica {
namespace {

constexpr size_t kNeeded = 4;       ///< stalls
constexpr double kLeastPeriod = 3;  ///< steps; closer ones raise the level
constexpr double kLikeSpacing = 0.05;
constexpr double kLikeLoss = 3;

double tolerance(double spacing) { return std::max(1.0, kLikeSpacing * spacing); }
bool alike(double a, double b) { return std::abs(a - b) <= tolerance(std::max(a, b)); }

}  // namespace

double StallTrain::chance(double steps_before) const {
  const double rate = (stalls_before + 1.0) / (steps_before + 1);
  const double fits = std::min(1.0, (2 * tolerance(period_steps) + 1) * rate);
  return rate * std::pow(fits, static_cast<double>(count) - 2);
}

void StallWatch::push(int64_t place, double excess, double least_excess) {
  if (excess < least_excess) return;
  const double lost_before = lost_;
  lost_ += excess;
  if (count_ > 0 && place - back(0).last <= 2) {
    Stall& stall = stalls_[(count_ - 1) % kKept];
    stall.last = place;
    stall.lost += excess;
    return;
  }
  stalls_[count_ % kKept] = {place, place, excess, lost_before, static_cast<uint32_t>(count_)};
  ++count_;
  if (count_ < 3) {
    train_first_ = stalls_[0].place;
    lost_before_train_ = 0;
    stalls_before_train_ = 0;
    train_count_ = static_cast<uint32_t>(count_);
    return;
  }
  const auto spacing = static_cast<double>(back(0).place - back(1).place);
  const auto before = static_cast<double>(back(1).place - back(2).place);
  if (alike(spacing, before)) {
    ++train_count_;
  } else {
    train_first_ = back(1).place;
    lost_before_train_ = back(1).lost_before;
    stalls_before_train_ = back(1).stalls_before;
    train_count_ = 2;
  }
}

std::optional<StallTrain> StallWatch::train() const {
  if (count_ < kNeeded || train_count_ < kNeeded) return std::nullopt;
  double least = back(0).lost;
  double most = back(0).lost;
  double lost = 0;
  for (size_t i = 0; i < kNeeded; ++i) {
    least = std::min(least, back(i).lost);
    most = std::max(most, back(i).lost);
    lost += back(i).lost / kNeeded;
  }
  const double period = static_cast<double>(back(0).place - back(kNeeded - 1).place) / (kNeeded - 1);
  if (period < kLeastPeriod || most > kLikeLoss * least) return std::nullopt;
  return StallTrain{period, lost, train_first_, train_count_, lost_before_train_, stalls_before_train_};
}

}  // namespace eroica
