#include "simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulate/bundle_writer.h"
#include "simulate/engine.h"

namespace eroica {
namespace {

/// Mean time of a step, from the device's end of one to the next, the first one left out.
double step_ns(const Timeline& timeline) {
  const size_t steps = timeline.ranks[0].step_end_ns.size();
  const auto end_of = [&](size_t step) {
    int64_t end = -1;
    for (const RankTimeline& rank : timeline.ranks) {
      if (rank.step_end_ns[step] < 0) return int64_t{-1};
      end = std::max(end, rank.step_end_ns[step]);
    }
    return end;
  };
  size_t last = steps - 1;
  while (last > 1 && (end_of(last) < 0 || (timeline.blocked && last + 1 == steps))) --last;
  if (last == 0) return 0;
  return static_cast<double>(end_of(last) - end_of(0)) / static_cast<double>(last);
}

HealthyFacts facts_of(const Timeline& timeline) {
  HealthyFacts facts;
  facts.step_ns = step_ns(timeline);
  const auto steps = static_cast<double>(timeline.ranks[0].step_start_ns.size());
  double worked = 0;
  double moved = 0;
  double shared = 0;
  double launched = 0;
  for (const RankTimeline& rank : timeline.ranks) {
    for (const HostInterval& part : rank.host) {
      if (part.activity == HostActivity::kRun) worked += static_cast<double>(part.end_ns - part.start_ns);
    }
    launched += static_cast<double>(rank.kernels.size());
  }
  for (const PlayedTransfer& transfer : timeline.transfers) {
    (transfer.between_hosts ? moved : shared) += static_cast<double>(transfer.end_ns - transfer.start_ns);
  }
  const double shares = steps * static_cast<double>(timeline.ranks.size());
  facts.host_ns = worked / shares;
  facts.communication_ns = moved / shares;
  facts.nvlink_ns = shared / shares;
  facts.launches = launched / shares;
  return facts;
}

struct Run {
  JobProgram program;
  Timeline timeline;
};

Run play_plant(const Plant& plant, double batch_load_ns) {
  Run run{write_program(plant), {}};
  run.timeline = play(plant, run.program, batch_load_ns);
  return run;
}

/// The job for a few steps, to know how long things take in it.
HealthyFacts try_out(Plant plant) {
  plant.job.steps = std::min(plant.job.steps, 2 * plant.job.sync_every + 2);
  return facts_of(play_plant(plant, 0).timeline);
}

/// The job, made such that what the fault acts on weighs in a step: a share of a step that nothing waits for can
/// become several times longer and nobody would notice.
JobSpec suitable_job(const SimulateRequest& request, const JobNeeds& needs) {
  JobSpec job = draw_job(request.seed, needs, request.wishes);
  constexpr int kAttempts = 6;
  for (int i = 0; i < kAttempts; ++i) {
    const HealthyFacts facts = try_out(healthy_plant(job, draw_dialect(job)));
    const bool idle_host = needs.busy_host && facts.step_ns > 1.9 * facts.host_ns;
    const bool idle_network = needs.heavy_network && job.hosts > 1 && facts.communication_ns < 0.5 * facts.step_ns;
    const bool idle_links = needs.tensor_parallel && facts.nvlink_ns < 0.25 * facts.step_ns;
    const double exchanged = facts.communication_ns / facts.step_ns;
    const bool odd_overlap = needs.overlap && job.hosts > 1 && (exchanged < 0.3 || exchanged > 0.7);
    if (!idle_host && !idle_network && !idle_links && !odd_overlap) break;
    if (odd_overlap && exchanged < 0.3) job.nic_bits_per_s = std::max(12.5e9, job.nic_bits_per_s / 2);
    if (odd_overlap && exchanged > 0.7) job.micro_batch *= 2;
    if (idle_network) job.nic_bits_per_s = std::max(25e9, job.nic_bits_per_s / 2);
    if (idle_links && facts.step_ns < 2 * facts.host_ns) {
      job.micro_batch *= 2;
    } else if (idle_links || idle_host) {
      shrink(job, idle_host);
    }
    if (idle_host && facts.communication_ns > 0.4 * facts.step_ns) {
      job.nics_per_host = job.gpus_per_host;
      job.nic_bits_per_s = 400e9;
    }
  }
  return job;
}

}  // namespace

Result<Simulated> simulate(const SimulateRequest& request) {
  JobNeeds needs;
  for (const FaultWish& wish : request.faults) {
    const FaultKind* kind = find_fault(wish.id);
    if (kind == nullptr) return Error{Error::Kind::kInvalid, fmt::format("there is no fault '{}'", wish.id)};
    needs = merge_needs(needs, kind->needs);
  }
  const JobSpec job = suitable_job(request, needs);
  const Plant healthy = healthy_plant(job, draw_dialect(job));
  for (const int rank : request.dropped_ranks) {
    if (rank < 0 || rank >= job.world()) {
      return Error{Error::Kind::kInvalid,
                   fmt::format("there is no rank {} to drop: the job has {}", rank, job.world())};
    }
  }

  const HealthyFacts facts = try_out(healthy);
  const double batch_load_ns = job.load_share * facts.step_ns * job.workers;
  Random random(request.seed, "faults");
  Simulated result;
  result.truth.strength = request.strength.value_or(random.uniform(0.25, 0.85));
  Plant plant = healthy;
  for (const FaultWish& wish : request.faults) {
    Result<FaultOutcome> outcome = apply_fault(plant, facts, wish, result.truth.strength, random);
    if (!outcome) return outcome.error();
    if (wish.strength && &wish == &request.faults.front()) result.truth.strength = *wish.strength;
    result.truth.faults.push_back(std::move(outcome.value()));
  }

  Run run = play_plant(plant, batch_load_ns);
  result.truth.step_ms = step_ns(run.timeline) / 1e6;
  result.truth.healthy_step_ms = result.truth.step_ms;
  result.files = write_bundle(plant, run.program, run.timeline, request, "");
  run = {};
  if (!request.faults.empty()) {
    const Run usual = play_plant(healthy, batch_load_ns);
    result.truth.healthy_step_ms = step_ns(usual.timeline) / 1e6;
    if (request.with_baseline) {
      auto files = write_bundle(healthy, usual.program, usual.timeline, request, "baseline/");
      result.files.insert(result.files.end(), std::make_move_iterator(files.begin()),
                          std::make_move_iterator(files.end()));
    }
  }
  result.truth.slowdown = result.truth.healthy_step_ms > 0 ? result.truth.step_ms / result.truth.healthy_step_ms : 1;
  result.files.push_back({"truth.json", truth_json(plant, request, result.truth)});
  return result;
}

}  // namespace eroica
