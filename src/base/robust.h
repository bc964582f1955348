#pragma once

#include <span>
#include <vector>

namespace eroica {

/// Median (mean of the middle two for even counts); 0 for an empty span. Reorders a copy.
double median(std::span<const double> values);
/// Median of |x − median|; not scaled. 0 for fewer than two values.
double median_absolute_deviation(std::span<const double> values);
/// Value at quantile q in [0, 1] by linear interpolation between order statistics (type 7); 0 when empty.
double quantile(std::span<const double> values, double q);

}  // namespace eroica
