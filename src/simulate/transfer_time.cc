#include "simulate/transfer_time.h"

#include <algorithm>
#include <set>

#include "simulate/physics.h"
#include "simulate/random.h"

namespace eroica {
namespace {

double within_host(const Plant& plant, std::span<const int> ranks) {
  double slowest = 1e30;
  for (const int rank : ranks) {
    slowest = std::min(slowest, plant.job.gpu_of(rank).nvlink_bytes_per_s * plant.gpus[rank].nvlink);
  }
  return slowest;
}

/// Do the bytes cross the wire between the two hosts that share a path?
bool uses_pair(const Plant& plant, const std::set<int>& hosts) {
  return plant.network.pair_a >= 0 && hosts.contains(plant.network.pair_a) && hosts.contains(plant.network.pair_b);
}

double between_hosts(const Plant& plant, std::span<const int> ranks, const std::set<int>& hosts, bool pairs,
                     int64_t t) {
  double slowest = 1e30;
  for (const int host : hosts) {
    const auto members = std::ranges::count_if(ranks, [&](int rank) { return plant.job.host_of(rank) == host; });
    // Groups like this one use the same NICs at the same time.
    const double beside =
        pairs ? plant.job.gpus_per_host : static_cast<double>(plant.job.gpus_per_host) / static_cast<double>(members);
    slowest = std::min(slowest, host_bytes_per_s(plant, host, t) / beside);
  }
  for (const int rank : ranks) {
    const double pcie = plant.job.gpu_of(rank).pcie_bytes_per_s * 0.9 * plant.gpus[rank].pcie;
    slowest =
        std::min(slowest, pcie * std::max(1.0, static_cast<double>(plant.job.nics_per_host) / plant.job.gpus_per_host));
  }
  if (uses_pair(plant, hosts)) slowest *= plant.network.pair_rate;
  return slowest;
}

}  // namespace

TransferTime transfer_time(const Plant& plant, std::span<const int> ranks, const CollectiveCall& call, int64_t t,
                           double noise) {
  std::set<int> hosts;
  for (const int rank : ranks) hosts.insert(plant.job.host_of(rank));
  TransferTime time;
  time.between_hosts = hosts.size() > 1;
  double rate = within_host(plant, ranks);
  double latency_ns = 7000 + 700 * static_cast<double>(ranks.size());
  if (time.between_hosts) {
    rate = std::min(rate, between_hosts(plant, ranks, hosts, call.channel != 0, t));
    latency_ns = 19000 + 3000 * static_cast<double>(hosts.size());
  }
  rate *= plant.network.efficiency;
  double ns = latency_ns * plant.network.latency + call.wire_bytes / rate * 1e9 * noise;
  if (time.between_hosts) {
    for (const int rank : ranks) {
      const double wait = plant.processes[rank].proxy_wait_us * 1e3;
      if (wait <= time.proxy_wait_ns) continue;
      time.late_proxy = rank;
      time.proxy_wait_ns = wait;
    }
    time.proxy_wait_ns *= noise * noise;
    ns += time.proxy_wait_ns;
    for (const int host : hosts) {
      for (size_t nic = 0; nic < plant.hosts[host].nics.size(); ++nic) {
        const Slices outages = link_outages(plant, host, static_cast<int>(nic));
        ns = static_cast<double>(outages.end_of(t, static_cast<int64_t>(ns)) - t);
      }
    }
  }
  time.ns = static_cast<int64_t>(ns);
  return time;
}

}  // namespace eroica
