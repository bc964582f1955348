#include <algorithm>
#include <cmath>
#include <limits>

#include "base/robust.h"
#include "diagnose/facts.h"

namespace eroica {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::optional<Observation> plain(std::optional<double> value, std::optional<double> usual) {
  if (!value || std::isnan(*value)) return std::nullopt;
  Observation seen;
  seen.value = *value;
  seen.peers_median = usual;
  return seen;
}

std::optional<Observation> contrasted(const Comparison& now, const Candidate& candidate,
                                      const std::function<double(uint32_t)>& value_of) {
  const auto found = contrast(candidate.subject, now.peers, value_of);
  if (!found) return std::nullopt;
  return Observation{found->value, found->peers_median, found->peers_mad, std::nullopt, ""};
}

// The value over the peers' median.
std::optional<Observation> relative(std::optional<Observation> seen) {
  if (!seen || !seen->peers_median || *seen->peers_median <= 0) return std::nullopt;
  seen->value /= *seen->peers_median;
  seen->peers_mad /= *seen->peers_median;
  seen->peers_median = 1;
  return seen;
}

bool has_peers(const Comparison& now, const Subject& subject) {
  for (const uint32_t rank : subject.sample(64)) {
    for (const uint32_t other : now.peers.sets[now.peers.set_of[rank]].ranks) {
      if (!subject.contains(other)) return true;
    }
  }
  return false;
}

// What a stage's ranks do of their own: on GPUs what the devices do, since hosts are alike.
double stage_work(const Job& job, const RankFacts& rank) {
  const auto share = [&](TimeClass one) { return static_cast<double>(rank.share[static_cast<size_t>(one)]); };
  return job.gpu_job ? share(TimeClass::kCompute) + share(TimeClass::kMemory) : rank.own() - share(TimeClass::kIdle);
}

double correlation_over_ranks(const Job& job, const std::vector<uint32_t>& ranks) {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (const uint32_t rank : ranks) {
    const double work = job.ranks[rank].work;
    const double own = job.ranks[rank].own();
    if (work <= 0) continue;
    n += 1;
    x += work;
    y += own;
    xx += work * work;
    yy += own * own;
    xy += work * own;
  }
  if (n < 3) return kNaN;
  const double spread = (xx - x * x / n) * (yy - y * y / n);
  return spread > 0 ? (xy - x * y / n) / std::sqrt(spread) : 0;
}

}  // namespace

std::optional<Observation> Facts::time(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  if (fact == "time.excess_share" || fact == "time.excess_ms") {
    if (!candidate.effect_measured || candidate.subject.is_all()) return std::nullopt;
    return plain(candidate.effect * (fact == "time.excess_ms" ? job.step_ms : 1), 0.0);
  }
  if (fact == "time.period_steps") return plain(bursts(job, candidate.subject).period_steps, std::nullopt);
  if (fact == "time.burst_share") return plain(bursts(job, candidate.subject).burst_share, std::nullopt);
  for (size_t i = 0; i < kTimeClassCount; ++i) {
    const std::string_view name = time_class_name(static_cast<TimeClass>(i));
    if (fact.substr(5).starts_with(name) && fact.ends_with("_share")) {
      return contrasted(*now_, candidate, [&](uint32_t rank) { return static_cast<double>(job.ranks[rank].share[i]); });
    }
  }
  return std::nullopt;
}

std::optional<Observation> Facts::kernels(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  const Subject& subject = candidate.subject;
  // Operators on the CPU have one name for many sizes: only ranks of the same stage run them alike.
  const bool compares = fact.ends_with("_ratio") || fact == "kernels.memory_over_gemm";
  if (!job.gpu_job && compares && !has_peers(*now_, subject)) return std::nullopt;
  if (fact == "kernels.on_device") return plain(job.gpu_job ? 1.0 : 0.0, std::nullopt);
  if (fact == "kernels.clock_deficit") {
    return contrasted(*now_, candidate, [&](uint32_t rank) { return now_->clock_deficits[rank]; });
  }
  if (fact == "kernels.memory_over_gemm") {
    const auto memory = kernel_ratio(job, now_->index, subject, KernelClass::kMemoryBound);
    const auto matrix = kernel_ratio(job, now_->index, subject, KernelClass::kMatrix);
    if (!memory || !matrix || *matrix <= 0) return std::nullopt;
    return plain(*memory / *matrix, 1.0);
  }
  if (fact == "kernels.gemm_ratio") {
    return plain(kernel_ratio(job, now_->index, subject, KernelClass::kMatrix), 1.0);
  }
  if (fact == "kernels.memory_bound_ratio") {
    return plain(kernel_ratio(job, now_->index, subject, KernelClass::kMemoryBound), 1.0);
  }
  if (fact == "kernels.all_ratio") return plain(kernel_ratio(job, now_->index, subject, KernelClass::kAny), 1.0);
  if (fact == "kernels.copy_ratio") return plain(copy_ratio(job, now_->index, subject), 1.0);
  if (fact == "kernels.api_ratio") return plain(api_ratio(job, now_->index, subject), 1.0);
  if (fact == "kernels.other_share") return plain(other_kernels_share(job, now_->index, subject), 0.0);
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
      double calls = 0;
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        if (!is_compute(use)) continue;
        durations.emplace_back(use.p50_us, use.calls);
        calls += use.calls;
      }
      std::sort(durations.begin(), durations.end());
      double passed = 0;
      for (const auto& [us, count] : durations) {
        passed += count;
        if (2 * passed >= calls) return us;
      }
      return kNaN;
    });
  }
  return std::nullopt;
}

std::optional<Observation> Facts::work(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  const auto ranks = candidate.subject.sample(1);
  const uint32_t set = ranks.empty() ? 0 : now_->peers.set_of[ranks.front()];
  const bool moving = candidate.rule != nullptr && candidate.rule->subject == SubjectBy::kMoving;
  if (fact == "work.ratio" || fact == "work.breadth") {
    const auto seen = work_contrast(job, now_->index, now_->peers, candidate.subject);
    if (!seen) return std::nullopt;
    return fact == "work.ratio" ? plain(seen->ratio, 1.0) : plain(seen->breadth, 0.0);
  }
  if (fact == "work.shapes") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      std::vector<std::pair<double, double>> shapes;  // and time
      double all = 0;
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        if (job.functions[use.function].kind != FunctionKind::kCompute || use.shapes == 0) continue;
        shapes.emplace_back(use.shapes, use.exposed);
        all += use.exposed;
      }
      std::sort(shapes.begin(), shapes.end());
      double passed = 0;
      for (const auto& [count, time] : shapes) {
        passed += time;
        if (2 * passed >= all) return count;
      }
      return kNaN;
    });
  }
  if (fact == "work.tracks_time") {
    double correlation = 0;
    for (const StepVariation& variation : now_->variation) {
      if (variation.steps > 0) correlation = std::max(correlation, variation.work_correlation);
    }
    return plain(moving ? correlation : correlation_over_ranks(job, now_->peers.sets[set].ranks), std::nullopt);
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
    if (moving) return plain(candidate.effect, std::nullopt);
    if (now_->variation[set].steps == 0) return std::nullopt;
    return plain(now_->variation[set].moving_share, std::nullopt);
  }
  const bool one_device = std::all_of(job.ranks.begin(), job.ranks.end(),
                                      [&](const RankFacts& rank) { return rank.device == job.ranks.front().device; });
  if (now_->peers.stages > 1 && one_device && (fact == "work.stage_excess_share" || fact == "work.stage_even")) {
    std::vector<double> longest(static_cast<size_t>(now_->peers.stages));
    std::vector<double> spread(longest.size());
    for (const PeerSet& peers : now_->peers.sets) {
      std::vector<double> own;
      own.reserve(peers.ranks.size());
      for (const uint32_t rank : peers.ranks) {
        own.push_back(stage_work(job, job.ranks[rank]));
      }
      const auto stage = static_cast<size_t>(peers.stage);
      longest[stage] = std::max(longest[stage], median(own));
      const auto [least, most] = std::minmax_element(own.begin(), own.end());
      spread[stage] = std::max(spread[stage], *most - *least);
    }
    const auto top = std::max_element(longest.begin(), longest.end());
    double mean = 0;
    for (const double stage : longest) mean += stage / static_cast<double>(longest.size());
    if (fact == "work.stage_excess_share") return plain(*top - mean, mean);
    const double apart = spread[static_cast<size_t>(top - longest.begin())];
    return plain(apart < 0.8 * (*top - mean) + 0.01 ? 1.0 : 0.0, std::nullopt);
  }
  return std::nullopt;
}

}  // namespace eroica
