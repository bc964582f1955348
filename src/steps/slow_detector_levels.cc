#include "steps/slow_detector_levels.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/robust.h"

namespace eroica {
namespace {

/// Sum of squares about the mean, from sums.
double about_mean(double n, double sum, double squares) { return n > 0 ? std::max(0.0, squares - sum * sum / n) : 0; }

/// What is left of the course when it is taken as flat up to `from` and straight from there.
double left_by_ramp(std::span<const double> levels, size_t from) {
  // Least squares for level = a + b · max(0, i − from).
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const double t = i > from ? static_cast<double>(i - from) : 0;
    n += 1;
    x += t;
    y += levels[i];
    xx += t * t;
    xy += t * levels[i];
    yy += levels[i] * levels[i];
  }
  const double spread = xx - x * x / n;
  const double along = xy - x * y / n;
  const double all = about_mean(n, y, yy);
  return spread > 0 && along > 0 ? all - along * along / spread : all;
}

double left_by_jump(std::span<const double> levels, size_t at) {
  double before = 0;
  double before_squares = 0;
  double after = 0;
  double after_squares = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    (i < at ? before : after) += levels[i];
    (i < at ? before_squares : after_squares) += levels[i] * levels[i];
  }
  return about_mean(static_cast<double>(at), before, before_squares) +
         about_mean(static_cast<double>(levels.size() - at), after, after_squares);
}

}  // namespace

void LevelWatch::push(double seconds) {
  const auto value = static_cast<float>(seconds);
  if (recent_.size() < steps_) {
    recent_.push_back(value);
  } else {
    recent_[count_ % steps_] = value;
  }
  ++count_;
  if (!renewed()) return;
  std::vector<float> recent = recent_;
  level_ = median_in_place(recent);
}

void LevelWatch::restart() {
  recent_.clear();
  count_ = 0;
}

void LevelHistory::push(double seconds, int64_t place) {
  if (steps_in_open_ == 0) open_first_ = place;
  const size_t every = std::max<size_t>(1, steps_per_part_ / 10);
  if (steps_in_open_ % every == 0 && in_open_ < open_.size()) open_[in_open_++] = static_cast<float>(seconds);
  if (++steps_in_open_ < steps_per_part_) return;

  if (count_ == kParts) {
    for (size_t i = 0; i < kParts / 2; ++i) {
      parts_[i] = {(parts_[2 * i].level + parts_[2 * i + 1].level) / 2, parts_[2 * i].first};
    }
    count_ = kParts / 2;
    steps_per_part_ *= 2;
    return;  // the open part goes on to its new length
  }
  parts_[count_++] = {static_cast<float>(median_in_place(std::span(open_).first(in_open_))), open_first_};
  in_open_ = 0;
  steps_in_open_ = 0;
}

LevelHistory::Ramp LevelHistory::ramp() const {
  constexpr size_t kLeastParts = 8;
  constexpr double kClearlyBetter = 0.6;
  if (count_ < kLeastParts) return {};
  std::vector<double> levels;
  levels.reserve(count_);
  for (size_t i = 0; i < count_; ++i) levels.push_back(static_cast<double>(parts_[i].level));

  double jump = left_by_jump(levels, 1);
  for (size_t at = 2; at < count_; ++at) jump = std::min(jump, left_by_jump(levels, at));
  size_t from = 0;
  double ramp = left_by_ramp(levels, 0);
  for (size_t at = 1; at + 4 < count_; ++at) {
    const double left = left_by_ramp(levels, at);
    if (left < ramp) {
      ramp = left;
      from = at;
    }
  }
  return {ramp < kClearlyBetter * jump, parts_[from].first};
}

}  // namespace eroica
