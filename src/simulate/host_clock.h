#pragma once

#include <cstdint>

#include "simulate/plant.h"

namespace eroica {

/// The clock of a host: wrong, and a little too fast or slow. Its traces and samples share it.
struct HostClock {
  int64_t base_unix_ns = 0;  ///< of documents written by this host
  int64_t offset_ns = 0;     ///< reading at the simulation's zero, since base_unix_ns
  double rate = 1;
  /// Time since base_unix_ns that the clock shows.
  [[nodiscard]] int64_t reading_ns(int64_t t) const {
    return offset_ns + static_cast<int64_t>(static_cast<double>(t) * (rate - 1)) + t;
  }
  [[nodiscard]] int64_t unix_ns(int64_t t) const { return base_unix_ns + reading_ns(t); }
};

HostClock host_clock(const Plant& plant, int host);

}  // namespace eroica
