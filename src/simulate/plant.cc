#include "simulate/plant.h"

#include "simulate/random.h"

namespace eroica {

Plant healthy_plant(const JobSpec& job, const Dialect& dialect) {
  Plant plant;
  plant.job = job;
  plant.dialect = dialect;
  const auto world = static_cast<size_t>(job.world());
  plant.gpus.resize(world);
  plant.processes.resize(world);
  plant.work.resize(world);
  plant.hosts.resize(job.hosts);
  for (HostState& host : plant.hosts) host.nics.resize(job.nics_per_host);
  if (job.world() <= 4 && job.hosts == 1) plant.network.protocol = "LL128";
  Random random(job.seed, "plant");
  if (job.hosts > 1 && random.chance(0.3)) plant.network.algorithm = "TREE";
  return plant;
}

}  // namespace eroica
