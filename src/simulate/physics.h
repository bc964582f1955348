#pragma once

#include <cstdint>
#include <utility>

#include "simulate/plant.h"

namespace eroica {

// The state of machines at an instant, as the engine uses it and the samplers show it.

/// A share of time that something takes in slices of a fixed length at slightly irregular intervals.
struct Slices {
  double share = 0;
  int64_t slice_ns = 0;
  uint64_t seed = 0;
  /// The slice that contains `t`, else the next one: [start, end).
  [[nodiscard]] std::pair<int64_t, int64_t> at_or_after(int64_t t) const;
  /// When work of this length that begins at `t` ends, if it stands still during slices.
  [[nodiscard]] int64_t end_of(int64_t t, int64_t work_ns) const;
};

/// Is the clock of this rank's GPU held down now?
bool clock_held(const Plant& plant, int rank, int64_t t);
/// Clock over the usual one.
double clock_factor(const Plant& plant, int rank, int64_t t);

/// Other processes on a GPU or a core.
Slices gpu_slices(const Plant& plant, int rank);
Slices core_slices(const Plant& plant, int rank);
Slices interpreter_slices(const Plant& plant, int rank);

/// Times without a link of this NIC, and how long the first of them within [t, t + ns) lasts.
Slices link_outages(const Plant& plant, int host, int nic);

/// Bytes a second that a host can send to others now, all its NICs together, as one collective sees it.
double host_bytes_per_s(const Plant& plant, int host, int64_t t);

}  // namespace eroica
