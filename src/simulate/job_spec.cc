#include "simulate/job_spec.h"

#include <algorithm>
#include <array>

#include "simulate/random.h"

namespace eroica {
namespace {

struct Shape {
  Layout layout;
  int hosts;
  Family family;
};

/// Layouts that people run, small enough to be simulated event by event.
constexpr std::array kShapes{
    Shape{{4, 1, 1, 1}, 1, Family::kVision}, Shape{{8, 1, 1, 1}, 1, Family::kVision},
    Shape{{4, 1, 1, 1}, 2, Family::kVision}, Shape{{8, 1, 1, 1}, 2, Family::kVision},
    Shape{{8, 1, 1, 1}, 4, Family::kVision}, Shape{{4, 1, 1, 1}, 1, Family::kFsdp},
    Shape{{8, 1, 1, 1}, 2, Family::kFsdp},   Shape{{8, 1, 1, 1}, 1, Family::kFsdp},
    Shape{{8, 1, 1, 1}, 4, Family::kFsdp},   Shape{{2, 2, 1, 1}, 1, Family::kLlm},
    Shape{{4, 2, 1, 1}, 1, Family::kLlm},    Shape{{4, 2, 1, 1}, 2, Family::kLlm},
    Shape{{4, 2, 1, 1}, 4, Family::kLlm},    Shape{{2, 2, 2, 1}, 1, Family::kLlm},
    Shape{{2, 2, 2, 1}, 2, Family::kLlm},    Shape{{2, 2, 2, 1}, 4, Family::kLlm},
    Shape{{4, 1, 2, 1}, 2, Family::kLlm},    Shape{{4, 1, 2, 1}, 1, Family::kLlm},
    Shape{{2, 1, 4, 1}, 2, Family::kLlm},    Shape{{2, 1, 4, 1}, 4, Family::kLlm},
    Shape{{2, 4, 1, 1}, 1, Family::kLlm},    Shape{{2, 1, 2, 1}, 1, Family::kLlm},
    Shape{{4, 1, 1, 4}, 1, Family::kMoe},    Shape{{8, 1, 1, 4}, 2, Family::kMoe},
    Shape{{4, 1, 2, 2}, 2, Family::kMoe},    Shape{{4, 2, 1, 4}, 1, Family::kMoe},
    Shape{{4, 1, 2, 4}, 1, Family::kMoe},    Shape{{8, 1, 1, 8}, 4, Family::kMoe},
    Shape{{1, 4, 1, 1}, 1, Family::kLlm},    Shape{{1, 8, 1, 1}, 1, Family::kLlm},
    Shape{{2, 4, 1, 1}, 2, Family::kLlm},    Shape{{1, 4, 2, 1}, 2, Family::kLlm},
    Shape{{1, 4, 2, 1}, 1, Family::kLlm},    Shape{{8, 1, 1, 1}, 1, Family::kLlm},
    Shape{{8, 1, 1, 1}, 4, Family::kLlm},
};

bool meets(const Shape& shape, const JobNeeds& needs) {
  const Layout& layout = shape.layout;
  if (needs.several_hosts && shape.hosts < 2) return false;
  if (shape.hosts < needs.hosts) return false;
  if (needs.pipeline && layout.pp < 2) return false;
  if (needs.experts && shape.family != Family::kMoe) return false;
  if (needs.transformer && shape.family == Family::kVision) return false;
  if (needs.tensor_parallel && (layout.tp < 4 || layout.world() / shape.hosts < layout.tp)) return false;
  if (needs.replicas && layout.dp < 2) return false;
  if (needs.overlap && (layout.tp > 1 || layout.pp > 1 || shape.family == Family::kMoe)) return false;
  if (needs.fat_input && shape.family != Family::kVision) return false;
  return true;
}

Shape wished_shape(const JobWishes& wishes, const JobNeeds& needs, Random& random) {
  Layout layout = wishes.layout;
  if (layout.dp <= 0) layout.dp = std::max(1, wishes.ranks);
  layout.tp = std::max(1, layout.tp);
  layout.pp = std::max(1, layout.pp);
  layout.ep = std::max(1, layout.ep);
  Family family = Family::kLlm;
  if (layout.ep > 1 || needs.experts) {
    family = Family::kMoe;
  } else if (layout.tp == 1 && layout.pp == 1 && !needs.transformer) {
    family = needs.fat_input || random.chance(0.5) ? Family::kVision : Family::kFsdp;
  }
  const int world = layout.world();
  int hosts = needs.several_hosts || world > 8 ? std::max(needs.hosts, 2) : needs.hosts;
  while (hosts < world && (world % hosts != 0 || world / hosts > 8)) ++hosts;
  return {layout, std::min(hosts, world), family};
}

Shape draw_shape(const JobNeeds& needs, const JobWishes& wishes, Random& random) {
  if (wishes.layout.world() > 0 || wishes.layout.dp > 0 || wishes.layout.tp > 0 || wishes.layout.pp > 0) {
    return wished_shape(wishes, needs, random);
  }
  std::vector<Shape> candidates;
  for (const Shape& shape : kShapes) {
    if (meets(shape, needs) && (wishes.ranks == 0 || shape.layout.world() == wishes.ranks)) candidates.push_back(shape);
  }
  return candidates.empty() ? wished_shape(wishes, needs, random) : random.pick(candidates);
}

/// Hidden sizes and tokens that give kernels of some tens of µs to some ms on this GPU.
void draw_sizes(JobSpec& job, const JobNeeds& needs, Random& random) {
  const double speed = job.gpu->matrix_flops_per_s / 196e12;
  job.hidden = 256 * random.integer(4, 8) * (speed > 1.5 ? 2 : 1);
  if (job.layout.tp > 1) job.hidden = job.hidden * 5 / 4 / 256 * 256;
  job.heads = job.hidden / 128;
  job.sequence = 1024 * random.integer(1, speed > 1.5 ? 4 : 2);
  job.micro_batch = random.integer(1, 4);
  job.micro_batches = job.layout.pp > 1 ? job.layout.pp * random.integer(1, 2) : 1;
  const int most = job.world() > 8 ? 16 : 28;
  const int layers = std::clamp(random.integer(12, most) / job.micro_batches, 3, most);
  job.stage_layers.assign(job.layout.pp, layers);
  job.feed_forward = random.integer(3, 4);
  job.vocabulary = 8192 * random.integer(2, 5);
  // A pipeline's owner balances its stages: the head is no longer than a fraction of a layer.
  if (job.layout.pp > 1) job.vocabulary = job.hidden;
  job.experts = std::max(job.layout.ep, 4) * random.integer(1, 2);
  job.image_side = 14 * random.integer(2, 4);
  if (job.family == Family::kVision) {
    job.micro_batch = 16 * random.integer(2, 6) * std::max(1, static_cast<int>(speed));
    job.hidden = 64 * random.integer(4, 8);
    job.stage_layers.assign(1, random.integer(14, 26));
  }
  if (needs.busy_host) {
    job.micro_batch = std::max(1, job.micro_batch / 2);
    if (job.family == Family::kVision) job.hidden = 64 * random.integer(3, 5);
    if (job.family != Family::kVision) job.sequence = 1024;
  }
  if (needs.heavy_network && job.family != Family::kVision) job.micro_batch = std::max(1, job.micro_batch / 2);
}

void draw_host_side(JobSpec& job, const JobNeeds& needs, Random& random) {
  job.sync_every = random.pick(std::array{1, 1, 2, 3, 5});
  if (needs.busy_host) job.sync_every = random.integer(1, 2);
  job.log_every = random.integer(1, 2) * job.sync_every;
  job.workers = 2 * random.integer(1, 3);
  job.prefetch = random.integer(2, 4);
  job.load_share = random.uniform(0.25, 0.6);
  job.input_bytes =
      job.family == Family::kVision ? 1e6 * random.integer(40, 120) : 8.0 * job.micro_batch * job.sequence;
  if (needs.fat_input) job.input_bytes = 1e6 * random.integer(120, 260);
  job.op_us = random.uniform(7.5, 11);
  job.launch_us = random.uniform(3.6, 5.6);
  job.cpus = 32 * random.integer(2, 6);
  job.cpu_hz = 1e8 * random.integer(24, 36);
}

void draw_network(JobSpec& job, const JobNeeds& needs, Random& random) {
  job.bonded = needs.bonded || random.chance(0.35);
  const bool fast = job.gpu->pcie_generation >= 5;
  job.nics_per_host = random.chance(0.5) ? job.gpus_per_host : std::max(1, job.gpus_per_host / 2);
  if (job.bonded) job.nics_per_host = std::max(1, job.nics_per_host / 2);
  job.nic_bits_per_s = (fast ? 200e9 : 100e9) * random.integer(1, 2);
  if (job.gpu->key == "v100") job.nic_bits_per_s = 100e9;
  if (needs.heavy_network) {
    job.nics_per_host = 1;
    job.nic_bits_per_s = fast ? 200e9 : 100e9;
  }
}

}  // namespace

std::string_view family_name(Family family) {
  constexpr std::array<std::string_view, 4> kNames{"llm", "moe", "vision", "fsdp llm"};
  return kNames[static_cast<size_t>(family)];
}

void shrink(JobSpec& job, bool tokens) {
  const bool vision = job.family == Family::kVision;
  if (tokens && job.micro_batch > (vision ? 8 : 1)) {
    job.micro_batch = std::max(1, job.micro_batch / 2);
  } else if (tokens && !vision && job.sequence > 256) {
    job.sequence /= 2;
  } else {
    const int grain = 64 * std::max(1, job.layout.tp);
    job.hidden = std::max(grain * 4, job.hidden * 2 / 3 / grain * grain);
    job.heads = std::max(4, job.hidden / 128);
  }
  if (tokens && job.hidden > 1024) job.hidden = std::max(1024, job.hidden * 3 / 4 / 256 * 256);
}

JobSpec draw_job(uint64_t seed, const JobNeeds& needs, const JobWishes& wishes) {
  Random random(seed, "job");
  JobSpec job;
  job.seed = seed;
  const Shape shape = draw_shape(needs, wishes, random);
  job.layout = shape.layout;
  job.hosts = shape.hosts;
  job.family = shape.family;
  job.gpus_per_host = std::max(1, job.world() / job.hosts);
  job.gpu = &random.pick(gpu_models());
  job.steps = wishes.steps > 0 ? wishes.steps : random.integer(10, 16);
  draw_sizes(job, needs, random);
  draw_host_side(job, needs, random);
  draw_network(job, needs, random);
  job.zero = job.family != Family::kFsdp && job.layout.dp > 1 && random.chance(0.4);
  job.bucket_layers = random.integer(1, 3);
  for (int rank = 0; rank < job.world(); ++rank) {
    job.silicon.push_back(1 + std::clamp(0.0035 * random.normal(), -0.008, 0.008));
  }
  return job;
}

}  // namespace eroica
