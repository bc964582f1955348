#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/robust.h"
#include "compare/stage_balance.h"
#include "diagnose/facts.h"
#include "diagnose/observed.h"

namespace eroica {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool has_peers(const Comparison& now, const Subject& subject) {
  for (const uint32_t rank : subject.sample(64)) {
    for (const uint32_t other : now.peers.sets[now.peers.set_of[rank]].ranks) {
      if (!subject.contains(other)) return true;
    }
  }
  return false;
}

// Of work and own time.
double correlation_over_ranks(const Job& job, const std::vector<uint32_t>& ranks) {
  std::vector<double> work;
  std::vector<double> own;
  for (const uint32_t rank : ranks) {
    if (job.ranks[rank].work <= 0) continue;
    work.push_back(job.ranks[rank].work);
    own.push_back(job.ranks[rank].own());
  }
  return work.size() < 3 ? kNaN : correlation(work, own);
}

}  // namespace

std::optional<SeenFact> Facts::time(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  if (fact == "time.excess_share" || fact == "time.excess_ms") {
    if (!candidate.effect_measured || candidate.subject.is_all()) return std::nullopt;
    return observed(candidate.effect * (fact == "time.excess_ms" ? job.step_ms : 1), 0.0);
  }
  if (fact == "time.launch_part") {
    if (!candidate.effect_measured || candidate.subject.is_all() || candidate.effect <= 0) return std::nullopt;
    auto seen = contrasted(*now_, candidate, [&](uint32_t rank) {
      const auto& share = job.ranks[rank].share;
      return static_cast<double>(share[static_cast<size_t>(TimeClass::kLaunch)]) +
             share[static_cast<size_t>(TimeClass::kSync)];
    });
    if (!seen || !seen->peers_median) return std::nullopt;
    return observed((seen->value - *seen->peers_median) / candidate.effect, 0.0);
  }
  if (fact == "time.cpu_wait_part") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      const double run = signal_of_rank("cpu.main_thread_run", rank);
      const double wait = signal_of_rank("cpu.main_thread_runnable_wait", rank);
      return run + wait > 0 ? wait / (run + wait) : kNaN;  // also where one is not known
    });
  }
  if (fact == "time.period_steps") return observed(bursts(job, candidate.subject).period_steps, std::nullopt);
  if (fact == "time.burst_share") return observed(bursts(job, candidate.subject).burst_share, std::nullopt);
  for (size_t i = 0; i < kTimeClassCount; ++i) {
    const std::string_view name = time_class_name(static_cast<TimeClass>(i));
    if (fact.substr(5).starts_with(name) && fact.ends_with("_share")) {
      return contrasted(*now_, candidate, [&](uint32_t rank) { return static_cast<double>(job.ranks[rank].share[i]); });
    }
  }
  return std::nullopt;
}

std::optional<SeenFact> Facts::kernels(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  const Subject& subject = candidate.subject;
  // Operators on the CPU have one name for many sizes: only ranks of the same stage run them alike.
  const bool compares = fact.ends_with("_ratio") || fact == "kernels.memory_over_gemm";
  if (!job.gpu_job && compares && !has_peers(*now_, subject)) return std::nullopt;
  if (fact == "kernels.on_device") return observed(job.gpu_job ? 1.0 : 0.0, std::nullopt);
  if (fact == "kernels.clock_deficit") {
    return contrasted(*now_, candidate, [&](uint32_t rank) { return now_->clock_deficits[rank]; });
  }
  if (fact == "kernels.memory_bound_slower") {
    return observed(slower_kernels(job, now_->index, subject, KernelClass::kMemoryBound), 0.0);
  }
  if (fact == "kernels.memory_over_gemm") {
    const auto memory = kernel_ratio(job, now_->index, subject, KernelClass::kMemoryBound);
    const auto matrix = kernel_ratio(job, now_->index, subject, KernelClass::kMatrix);
    if (!memory || !matrix || *matrix <= 0) return std::nullopt;
    return observed(*memory / *matrix, 1.0);
  }
  if (fact == "kernels.gemm_ratio") {
    return observed(kernel_ratio(job, now_->index, subject, KernelClass::kMatrix), 1.0);
  }
  if (fact == "kernels.memory_bound_ratio") {
    return observed(kernel_ratio(job, now_->index, subject, KernelClass::kMemoryBound), 1.0);
  }
  if (fact == "kernels.all_ratio") return observed(kernel_ratio(job, now_->index, subject, KernelClass::kAny), 1.0);
  if (fact == "kernels.copy_ratio") return observed(copy_ratio(job, now_->index, subject), 1.0);
  if (fact == "kernels.api_ratio") return observed(api_ratio(job, now_->index, subject), 1.0);
  if (fact == "kernels.other_share") return observed(other_kernels_share(job, now_->index, subject), 0.0);
  const auto over_compute = [&](const std::function<double(uint32_t)>& value_of) {
    return contrasted(*now_, candidate, value_of);
  };
  const auto is_compute = [&](const FunctionUse& use) {
    return job.functions[use.function].kind == FunctionKind::kCompute;
  };
  if (fact == "kernels.beside_ratio") {
    return over_compute([&](uint32_t rank) {
      double beside = 0;
      double alone = 0;
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        if (!is_compute(use) || use.shapes > 1 || use.beside_us <= 0 || use.alone_us <= 0) continue;
        beside += use.exposed * use.beside_us / use.alone_us;
        alone += use.exposed;
      }
      return alone > 0 ? beside / alone : kNaN;
    });
  }
  if (fact == "kernels.simt_share") {
    return over_compute([&](uint32_t rank) {
      double simt = 0;
      double matrix = 0;
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        if (job.functions[use.function].workload != Workload::kMatrix) continue;
        matrix += use.exposed;
        if (job.functions[use.function].simt) simt += use.exposed;
      }
      return matrix > 0 ? simt / matrix : kNaN;
    });
  }
  if (fact == "kernels.per_step") {
    return over_compute([&](uint32_t rank) {
      double calls = 0;
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) calls += is_compute(use) ? use.calls : 0;
      return calls;
    });
  }
  if (fact == "kernels.median_us") {
    return over_compute([&](uint32_t rank) {
      std::vector<std::pair<double, double>> durations;  // µs, calls
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        if (is_compute(use)) durations.emplace_back(use.p50_us, use.calls);
      }
      return durations.empty() ? kNaN : weighted_median(std::move(durations));
    });
  }
  return std::nullopt;
}

std::optional<SeenFact> Facts::work(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  const auto ranks = candidate.subject.sample(1);
  const uint32_t set = ranks.empty() ? 0 : now_->peers.set_of[ranks.front()];
  const bool moving = candidate.rule != nullptr && candidate.rule->subject == SubjectBy::kMoving;
  if (fact == "work.ratio" || fact == "work.breadth") {
    const auto seen = work_contrast(job, now_->index, now_->peers, candidate.subject);
    if (!seen) return std::nullopt;
    return fact == "work.ratio" ? observed(seen->ratio, 1.0) : observed(seen->breadth, 0.0);
  }
  if (fact == "work.shapes") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      std::vector<std::pair<double, double>> shapes;  // and time
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        const bool counts = job.functions[use.function].kind == FunctionKind::kCompute && use.shapes > 0;
        if (counts) shapes.emplace_back(use.shapes, use.exposed);
      }
      return shapes.empty() ? kNaN : weighted_median(std::move(shapes));
    });
  }
  if (fact == "work.tracks_time") {
    double correlation = 0;
    for (const StepVariation& variation : now_->variation) {
      if (variation.steps > 0) correlation = std::max(correlation, variation.work_correlation);
    }
    return observed(moving ? correlation : correlation_over_ranks(job, now_->peers.sets[set].ranks), std::nullopt);
  }
  if (fact == "work.tokens_ratio") {
    return relative(contrasted(*now_, candidate, [&](uint32_t rank) {
      double bytes = 0;
      for (const CollectiveUse& use : job.collectives_of(job.ranks[rank])) {
        if (job.words[use.kind].starts_with("all_to_all")) bytes += static_cast<double>(use.bytes) * use.count;
      }
      return bytes > 0 ? bytes : kNaN;
    }));
  }
  if (fact == "work.moving_share") {
    if (moving) return observed(candidate.effect, std::nullopt);
    if (now_->variation[set].steps == 0) return std::nullopt;
    return observed(now_->variation[set].moving_share, std::nullopt);
  }
  if (fact == "work.stage_excess_share" || fact == "work.stage_even") {
    const auto balance = stage_balance(job, now_->peers);
    if (!balance) return std::nullopt;
    if (fact == "work.stage_excess_share") return observed(balance->excess, balance->mean);
    return observed(balance->spread < 0.8 * balance->excess + 0.01 ? 1.0 : 0.0, std::nullopt);
  }
  return std::nullopt;
}

}  // namespace eroica
