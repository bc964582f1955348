#pragma once

#include <span>

#include "simulate/program.h"

namespace eroica {

/// Which way a collective's bytes go, and how long they take once every member has come.
struct TransferTime {
  int64_t ns = 0;
  bool between_hosts = false;
  int late_proxy = -1;  ///< rank whose network thread was waited for
  double proxy_wait_ns = 0;
};

/// A collective of these ranks that begins at `t`: latency + bytes over the slowest link of its ring.
/// `noise` is a factor around 1.
TransferTime transfer_time(const Plant& plant, std::span<const int> ranks, const CollectiveCall& call, int64_t t,
                           double noise);

}  // namespace eroica
