#pragma once

#include <cstdint>

namespace eroica {

/// a + b, held at the ends of the range: sums over hostile durations must not wrap.
inline int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/// a × b for values that are not negative, held at the end of the range.
inline int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace eroica
