#include "steps/slow_detector_reference.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr double kSigmaOfMad = 1.4826;
constexpr double kLeastSigma = 1e-4;  ///< of the level

uint64_t scrambled(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double mean_exponential(const std::vector<float>& values, double unseen, double allowance, double theta) {
  double sum = std::exp(theta * (unseen - allowance));
  for (const float value : values) sum += std::exp(theta * (static_cast<double>(value) - allowance));
  return sum / static_cast<double>(values.size() + 1);
}

}  // namespace

double normal_quantile(double p) {
  // Acklam's rational approximation; its relative error is below 1.2e-9.
  constexpr std::array<double, 6> a = {-39.69683028665376, 220.9460984245205,  -275.9285104469687,
                                       138.3577518672690,  -30.66479806614716, 2.506628277459239};
  constexpr std::array<double, 5> b = {-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972,
                                       -13.28068155288572};
  constexpr std::array<double, 6> c = {-0.007784894002430293, -0.3223964580411365, -2.400758277161838,
                                       -2.549732539343734,    4.374664141464968,   2.938163982698783};
  constexpr std::array<double, 4> d = {0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416};
  constexpr double kTail = 0.02425;
  if (p > 1 - kTail) return -normal_quantile(1 - p);
  if (p < kTail) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

double cusum_limit(const std::vector<float>& values, double unseen, double allowance, double every_steps) {
  constexpr double kNever = 1e9;
  constexpr double kLargestTheta = 16;
  double high = 1.0 / 64;
  if (mean_exponential(values, unseen, allowance, high) >= 1) return kNever;
  while (high < kLargestTheta && mean_exponential(values, unseen, allowance, high) < 1) high *= 2;
  double low = high / 2;
  for (int i = 0; i < 8; ++i) {
    const double middle = (low + high) / 2;
    (mean_exponential(values, unseen, allowance, middle) < 1 ? low : high) = middle;
  }
  return std::log(every_steps) / low;
}

void StepReference::add(double seconds) {
  const auto value = static_cast<float>(seconds);
  ++seen_;
  if (sorted_.size() == kMost) {
    const uint64_t place = scrambled(seen_) % seen_;
    if (place >= kMost) return;
    sorted_.erase(sorted_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  sorted_.insert(std::ranges::upper_bound(sorted_, value), value);
  refresh();
}

void StepReference::clear() {
  sorted_.clear();
  seen_ = 0;
  refresh();
}

double StepReference::level() const {
  const size_t n = sorted_.size();
  if (n == 0) return 0;
  return (static_cast<double>(sorted_[(n - 1) / 2]) + static_cast<double>(sorted_[n / 2])) / 2;
}

double StepReference::score(double seconds) const {
  const auto value = static_cast<float>(seconds);
  const auto below = std::ranges::lower_bound(sorted_, value) - sorted_.begin();
  const auto up_to = std::upper_bound(sorted_.begin() + below, sorted_.end(), value) - sorted_.begin();
  const double place = (static_cast<double>(below) + static_cast<double>(up_to) + 1) / 2;
  return normal_quantile(place / static_cast<double>(sorted_.size() + 1));
}

double StepReference::excess(double seconds, double most) const {
  return std::clamp(seconds / level() - 1, -0.5, most);
}

void StepReference::refresh() {
  ++version_;
  if (sorted_.empty()) return;
  // Both statistics move slowly; the whole sample need not be gone through for each of its many changes.
  if (sorted_.size() > 64 && version_ % 16 != 0) return;
  const std::vector<double> values(sorted_.begin(), sorted_.end());
  sigma_ = std::max(kSigmaOfMad * median_absolute_deviation(values), kLeastSigma * level());
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    const double one = excess(value);
    sum += one;
    squares += one * one;
  }
  const auto n = static_cast<double>(values.size());
  mean_excess_ = sum / n;
  sigma_excess_ = std::sqrt(std::max(0.0, squares / n - mean_excess_ * mean_excess_));
}

}  // namespace eroica
