#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "base/hash.h"

namespace eroica {

/// A reproducible stream of numbers (splitmix64). The same on every machine, unlike the standard's distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// An independent stream for one purpose: what one part draws never moves what another part gets.
  Random(uint64_t seed, std::string_view purpose, uint64_t index = 0)
      : state_(hash_combine(hash_combine(seed, hash_bytes(purpose)), index)) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// In [low, high], both included.
  int integer(int low, int high) { return low + static_cast<int>(next() % (static_cast<uint64_t>(high - low) + 1)); }
  bool chance(double probability) { return uniform() < probability; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// A factor around 1.
  double lognormal(double sigma) { return std::exp(sigma * normal()); }
  template <typename Items>
  const auto& pick(const Items& items) {
    return items[next() % std::size(items)];
  }

 private:
  uint64_t state_;
};

}  // namespace eroica
