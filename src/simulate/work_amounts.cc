#include "simulate/work_amounts.h"

#include <algorithm>
#include <cmath>

#include "simulate/random.h"

namespace eroica {
namespace {

uint64_t place(int a, int b, int c, int d) {
  return (static_cast<uint64_t>(a) << 48) ^ (static_cast<uint64_t>(b) << 32) ^ (static_cast<uint64_t>(c) << 16) ^
         static_cast<uint64_t>(d);
}

}  // namespace

Amount amount_of(const Plant& plant, int rank, int step, int micro_batch) {
  const WorkState& work = plant.work[rank];
  Amount amount{work.batch, work.batch};
  if (work.sequence_spread > 0) {
    // All shards and stages of a replica work on the same sequences.
    Random random(plant.job.seed, "sequences", place(plant.job.layout.replica(rank), step, micro_batch, 0));
    const double length = std::exp(work.sequence_spread * std::clamp(random.normal(), -1.2, 2.2));
    amount.tokens *= std::sqrt(length);
    amount.attention *= length * length;
  }
  return amount;
}

double expert_share(const Plant& plant, int rank, int step, int micro_batch, int layer) {
  const WorkState& work = plant.work[rank];
  Random random(plant.job.seed, "experts", place(rank, step, micro_batch, layer));
  const double share = std::exp(work.expert_skew * random.normal());
  return rank == work.hot_rank ? share * work.hot_factor : share;
}

}  // namespace eroica
