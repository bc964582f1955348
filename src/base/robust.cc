#include "base/robust.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace eroica {
namespace {

/// The point `part` of the way from `low` to `high`; finite where both are.
double between(double low, double high, double part) { return low == high ? low : low * (1 - part) + high * part; }

template <typename Number>
double median_of(std::span<Number> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return between(*std::max_element(values.begin(), middle), *middle, 0.5);
}

}  // namespace

double median_in_place(std::span<double> values) { return median_of(values); }
double median_in_place(std::span<float> values) { return median_of(values); }

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

double median_absolute_deviation(std::span<const double> values) {
  if (values.size() < 2) {
    return 0;
  }
  std::vector<double> copy(values.begin(), values.end());
  const double centre = median_in_place(copy);
  for (double& value : copy) {
    value = std::abs(value - centre);
  }
  return median_in_place(copy);
}

double quantile(std::span<const double> values, double q) {
  if (values.empty()) {
    return 0;
  }
  std::vector<double> copy(values.begin(), values.end());
  const double clamped = q > 0 ? std::min(q, 1.0) : 0.0;  // NaN counts as 0
  const double place = clamped * static_cast<double>(copy.size() - 1);
  const auto below = static_cast<size_t>(place);
  const auto low = copy.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(copy.begin(), low, copy.end());
  if (below + 1 == copy.size()) {
    return *low;
  }
  return between(*low, *std::min_element(low + 1, copy.end()), place - static_cast<double>(below));
}

double weighted_median(std::vector<std::pair<double, double>> weighted) {
  std::sort(weighted.begin(), weighted.end());
  double all = 0;
  for (const auto& [value, weight] : weighted) all += weight;
  double passed = 0;
  for (const auto& [value, weight] : weighted) {
    passed += weight;
    if (2 * passed >= all) return value;
  }
  return 0;
}

double correlation(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace eroica
