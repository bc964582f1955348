#pragma once

#include <span>
#include <utility>
#include <vector>

namespace eroica {

/// Median (mean of the middle two for even counts); 0 for an empty span. Reorders a copy.
double median(std::span<const double> values);
/// … of values that may be reordered.
double median_in_place(std::span<double> values);
double median_in_place(std::span<float> values);
/// Median of |x − median|; not scaled. 0 for fewer than two values.
double median_absolute_deviation(std::span<const double> values);
/// Value at quantile q in [0, 1] by linear interpolation between order statistics (type 7); 0 when empty.
double quantile(std::span<const double> values, double q);

/// Of (value, weight) pairs the smallest value that with all smaller ones holds at least half of the weight; 0 when
/// empty. Weights are not negative.
double weighted_median(std::vector<std::pair<double, double>> weighted);
/// Pearson's correlation of equally long series; 0 where either does not vary.
double correlation(std::span<const double> x, std::span<const double> y);

}  // namespace eroica
