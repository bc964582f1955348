#include <array>

#include "simulate/fault_tools.h"

namespace eroica {
namespace {

std::vector<NicState>& nics(const FaultScene& scene) { return scene.plant.hosts[scene.host].nics; }

/// What all its NICs together can carry of what the job wants: below this a host is the ring's slowest.
double rate_for(const FaultScene& scene, double mild, double strong) {
  return limited(scaled(scene, mild, strong), 0.05, 0.95);
}

void slow_link(const FaultScene& scene, FaultOutcome& outcome) {
  const double rate = rate_for(scene, 0.6, 0.15);
  const bool negotiated = scene.random.chance(0.5);
  for (NicState& nic : nics(scene)) {
    nic.rate = rate;
    if (negotiated) nic.rate = nic.negotiated = rate < 0.18 ? 0.125 : rate < 0.35 ? 0.25 : 0.5;
  }
  blame_host(scene, outcome, "link");
}

void flap(const FaultScene& scene, FaultOutcome& outcome) {
  NicState& nic = nics(scene)[scene.random.next() % nics(scene).size()];
  nic.flap_outage_s = std::max(0.6 * scene.facts.step_ns / 1e9, 0.02) * scene.random.uniform(0.8, 1.2);
  nic.flap_per_s = limited(scaled(scene, 0.12, 0.45), 0.05, 0.6) / nic.flap_outage_s;
  nic.error_per_s = 3;
  scene.plant.hosts[scene.host].retransmit_per_s = scaled(scene, 30, 200);
  blame_host(scene, outcome, "link");
}

void bond(const FaultScene& scene, FaultOutcome& outcome) {
  for (NicState& nic : nics(scene)) {
    nic.members_up = 1;
    nic.rate = 0.5;
    nic.negotiated = 0.5;
  }
  blame_host(scene, outcome, "link");
}

void gdr(const FaultScene& scene, FaultOutcome& outcome) {
  for (NicState& nic : nics(scene)) {
    nic.rate = rate_for(scene, 0.55, 0.2);
    nic.through_host = true;
  }
  blame_host(scene, outcome);
}

void pfc(const FaultScene& scene, FaultOutcome& outcome) {
  for (HostState& host : scene.plant.hosts) {
    for (NicState& nic : host.nics) {
      nic.pause_per_s = scaled(scene, 4e3, 5e4) * scene.random.uniform(0.6, 1.4);
      nic.rate = rate_for(scene, 0.6, 0.2);
      nic.varying = 0.25;
    }
  }
  blame_all(outcome);
  outcome.scope = "link";
}

void congestion(const FaultScene& scene, FaultOutcome& outcome) {
  for (HostState& host : scene.plant.hosts) {
    for (NicState& nic : host.nics) {
      nic.cnp_per_s = scaled(scene, 2e3, 2e4) * scene.random.uniform(0.7, 1.3);
      nic.varying = limited(scaled(scene, 0.6, 0.9), 0.3, 0.93);
      nic.rate = rate_for(scene, 0.8, 0.4);
    }
  }
  blame_all(outcome);
  outcome.scope = "link";
}

/// A host that this one exchanges much with: gradients first, else activations.
int partner_host(const JobSpec& job, int host) {
  const int first = ranks_of_host(job, host).front();
  for (const int stride : {job.layout.tp, job.layout.dp * job.layout.tp}) {
    for (const int other : {first + stride, first - stride}) {
      const bool replica = stride == job.layout.tp;
      if (other < 0 || other >= job.world() || job.host_of(other) == host) continue;
      if (replica && job.layout.stage(other) != job.layout.stage(first)) continue;
      return job.host_of(other);
    }
  }
  return (host + 1) % job.hosts;
}

void ecmp(const FaultScene& scene, FaultOutcome& outcome) {
  NetworkState& network = scene.plant.network;
  network.pair_a = scene.host;
  network.pair_b = partner_host(scene.plant.job, scene.host);
  network.pair_rate = limited(scaled(scene, 0.6, 0.15), 0.1, 0.9);
  outcome.hosts = {network.pair_a, network.pair_b};
  for (const int host : outcome.hosts) {
    for (const int rank : ranks_of_host(scene.plant.job, host)) outcome.ranks.push_back(rank);
  }
  std::ranges::sort(outcome.ranks);
  std::ranges::sort(outcome.hosts);
  outcome.scope = "link";
}

void port_errors(const FaultScene& scene, FaultOutcome& outcome) {
  NicState& nic = nics(scene)[scene.random.next() % nics(scene).size()];
  nic.error_per_s = scaled(scene, 200, 4000);
  nic.drop_per_s = nic.error_per_s * 0.2;
  nic.rate = rate_for(scene, 0.55, 0.15);
  nic.varying = 0.2;
  scene.plant.hosts[scene.host].retransmit_per_s = scaled(scene, 100, 900);
  blame_host(scene, outcome, "link");
}

void background(const FaultScene& scene, FaultOutcome& outcome) {
  for (NicState& nic : nics(scene)) {
    nic.foreign_bytes_per_s = scene.plant.job.nic_bits_per_s / 8 * 0.9 * limited(scaled(scene, 0.4, 0.88), 0.2, 0.92);
  }
  blame_host(scene, outcome, "link");
}

void proxy(const FaultScene& scene, FaultOutcome& outcome) {
  const int per_step = std::max(2, scene.plant.job.stage_layers[0] / std::max(1, scene.plant.job.bucket_layers));
  scene.plant.processes[scene.rank].proxy_wait_us =
      std::max(scaled(scene, 0.15, 0.7) * scene.facts.step_ns + 0.5 * scene.facts.communication_ns, 2e6) / per_step /
      1e3;
  blame_rank(scene, outcome);
}

void algorithm(const FaultScene& scene, FaultOutcome& outcome) {
  NetworkState& network = scene.plant.network;
  network.algorithm = network.algorithm == "TREE" ? "RING" : "TREE";
  network.protocol = "LL";
  network.efficiency = limited(scaled(scene, 0.6, 0.25), 0.1, 0.8);
  network.channels = 2;
  network.latency = 0.8;
  blame_all(outcome);
  outcome.wants_baseline = true;
}

constexpr JobNeeds kWire{.several_hosts = true, .heavy_network = true, .replicas = true};
constexpr JobNeeds kBond{.several_hosts = true, .heavy_network = true, .replicas = true, .bonded = true};
constexpr JobNeeds kFourHosts{.several_hosts = true, .hosts = 4, .pipeline = true, .heavy_network = true};

constexpr std::array kFaults{
    FaultKind{"nic.slow_link", "a host's link moves bytes slower than its peers': shaped or negotiated low", kWire,
              slow_link},
    FaultKind{"nic.flap", "a NIC loses its link in bursts", kWire, flap},
    FaultKind{"nic.bond_degraded", "a bond lost one of its two ports", kBond, bond},
    FaultKind{"nic.gdr_misconfigured", "a host sends through its memory instead of GPUDirect", kWire, gdr},
    FaultKind{"net.pfc_storm", "pause frames stop the senders of many hosts", kWire, pfc},
    FaultKind{"net.congestion", "congestion notifications slow the senders, from moment to moment", kWire, congestion},
    FaultKind{"net.ecmp_collision", "flows between two hosts share a path", kFourHosts, ecmp},
    FaultKind{"net.port_errors", "a bad optic damages packets", kWire, port_errors},
    FaultKind{"net.background_traffic", "somebody else's traffic fills a host's NICs", kWire, background},
    FaultKind{"cpu.comm_proxy_starved", "NCCL's network thread of a rank waits for a CPU", kWire, proxy},
    FaultKind{"config.collective_algorithm",
              "another NCCL algorithm, protocol and fewer channels than before",
              {.heavy_network = true, .replicas = true},
              algorithm},
};

}  // namespace

std::span<const FaultKind> network_faults() { return kFaults; }

}  // namespace eroica
