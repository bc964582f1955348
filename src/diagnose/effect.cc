#include "diagnose/effect.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/robust.h"
#include "compare/function_excess.h"
#include "compare/unobserved.h"
#include "diagnose/candidates.h"
#include "diagnose/vocabulary.h"
#include "diagnose/wire_rate.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

constexpr size_t kMostElsewhere = 1024;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kAlike = 0.5;
constexpr double kLeastPart = 0.03;      // of the transfers' time
constexpr double kUnmeasuredPart = 0.3;  // of the affected time, where nobody shows what it would be without the cause

// Median of `value_of` over the set's ranks outside the subject; NaN: there are none.
double usual_of(const PeerSet& set, const Subject& subject, const std::function<double(uint32_t)>& value_of) {
  const std::vector<double> values = values_outside(set, subject, value_of);
  return values.empty() ? kNaN : median(values);
}

bool tells_speed(std::string_view fact) {
  return fact == "net.speed" || fact == "net.members_up" || fact == "gpu.nvlink_up" || fact == "net.transmit" ||
         fact == "net.receive" || fact == "gpu.pcie_width" || fact == "gpu.pcie_generation";
}

// A signal that stands out says that something is wrong, however much it costs. Labels differ between healthy hosts as
// well: only time that is seen to be lost makes one a cause.
bool may_be_estimated(const Rule& rule) { return rule.subject != SubjectBy::kLabel; }

bool needs(const Rule& rule, std::string_view prefix) {
  return std::ranges::any_of(rule.evidence, [&](const EvidenceRule& evidence) {
    return is_needed(evidence) && evidence.fact.starts_with(prefix);
  });
}

bool needs_or_likes(const Rule& rule, std::string_view fact) {
  return std::ranges::any_of(rule.evidence, [&](const EvidenceRule& evidence) { return evidence.fact == fact; });
}

// What the affected time was in an earlier window of the same job, as a share of this one's step, for rules that look
// there.
std::optional<double> share_before(const Facts& facts, const Rule& rule, const std::vector<TimeClass>& classes) {
  if (facts.baseline() == nullptr || !needs(rule, "baseline.")) return std::nullopt;
  const Job& job = *facts.now().job;
  const Job& then = *facts.baseline()->job;
  std::vector<double> usual_ms;
  usual_ms.reserve(then.ranks.size());
  for (const RankFacts& before : then.ranks) usual_ms.push_back(own_share(before, classes) * then.step_ms);
  if (usual_ms.empty() || job.step_ms <= 0) return std::nullopt;
  return median(usual_ms) / job.step_ms;
}

// What keeps the host of all ranks from being ahead costs all the time that devices wait for it.
bool idles_device(const Rule& rule, const Job& job) {
  return job.gpu_job && rule.subject == SubjectBy::kAll && std::ranges::none_of(rule.affects, [](TimeClass one) {
           return one == TimeClass::kCompute || one == TimeClass::kMemory || one == TimeClass::kCommunication;
         });
}

// What the cause may cost a rank, where nobody shows what a step would be without it.
class Estimate {
 public:
  Estimate(const Candidate& candidate, const Facts& facts, const std::vector<TimeClass>& classes)
      : job_(*facts.now().job),
        classes_(classes),
        before_(share_before(facts, *candidate.rule, classes)),
        by_tensor_cores_(needs(*candidate.rule, "kernels.simt_share")) {
    if (!idles_device(*candidate.rule, job_)) return;
    // What some ranks have beyond the others is not everybody's.
    least_ = std::numeric_limits<double>::infinity();
    for (const uint32_t rank : candidate.subject.sample(kMostElsewhere)) {
      if (job_.ranks[rank].observed) least_ = std::min(least_, own_share(job_.ranks[rank], classes));
    }
  }

  [[nodiscard]] double share_of(uint32_t rank) const {
    const double affected = own_share(job_.ranks[rank], classes_);
    if (before_) return std::max(0.0, affected - *before_);
    if (by_tensor_cores_) return kTensorCoresGain * simt_share(rank);
    return std::max(std::min(affected, least_), kUnmeasuredPart * affected);
  }

 private:
  static constexpr double kTensorCoresGain = 0.875;  // they are eight times as fast as the ordinary ones, or more

  [[nodiscard]] double simt_share(uint32_t rank) const {
    double share = 0;
    for (const FunctionUse& use : job_.uses_of(job_.ranks[rank])) {
      const JobFunction& function = job_.functions[use.function];
      if (function.workload == Workload::kMatrix && function.simt) share += use.exposed;
    }
    return share;
  }

  const Job& job_;
  const std::vector<TimeClass>& classes_;
  std::optional<double> before_;
  bool by_tensor_cores_;
  double least_ = 0;  // of the ranks' affected time, where all of them lose that
};

std::string function_expression(const Rule& rule) {
  for (const EvidenceRule& evidence : rule.evidence) {
    const bool of_functions = is_needed(evidence) && evidence.fact.starts_with("function.");
    if (of_functions && !evidence.function.empty()) return evidence.function;
  }
  return {};
}

void measure_own_time(Candidate& candidate, Facts& facts, const std::vector<TimeClass>& classes) {
  const Comparison& now = facts.now();
  const Job& job = *now.job;
  const std::string expression =
      candidate.rule->subject == SubjectBy::kFunction ? function_expression(*candidate.rule) : std::string();
  const std::vector<double> in_functions =
      expression.empty() ? std::vector<double>() : facts.function_share(expression);
  const auto affected = [&](uint32_t rank) {
    return in_functions.empty() ? own_share(job.ranks[rank], classes) : in_functions[rank];
  };
  const auto own = [&](uint32_t rank) { return static_cast<double>(job.ranks[rank].own()); };
  const bool by_clock =
      std::any_of(candidate.rule->evidence.begin(), candidate.rule->evidence.end(), [](const EvidenceRule& evidence) {
        return is_needed(evidence) &&
               (evidence.fact.starts_with("gpu.throttle_") || evidence.fact == "gpu.clock_locked");
      });
  const auto peers_deficit = [&](uint32_t rank) {
    return usual_of(now.peers.sets[now.peers.set_of[rank]], candidate.subject,
                    [&](uint32_t other) { return now.clock_deficits[other]; });
  };
  const auto user_python = std::ranges::find_if(
      candidate.rule->evidence, [](const EvidenceRule& evidence) { return evidence.fact == "function.user_share"; });
  const bool of_user_python = candidate.subject.is_all() && user_python != candidate.rule->evidence.end();
  const bool computes = std::find(classes.begin(), classes.end(), TimeClass::kCompute) != classes.end();
  std::vector<TimeClass> host_classes = classes;
  std::erase(host_classes, TimeClass::kCompute);
  const auto host_time = [&](uint32_t rank) { return own_share(job.ranks[rank], host_classes); };
  double usual_elsewhere = kNaN;
  if (!candidate.subject.is_all()) {
    std::vector<double> elsewhere;
    const size_t stride = std::max<size_t>(1, job.ranks.size() / kMostElsewhere);
    for (size_t rank = 0; rank < job.ranks.size(); rank += stride) {
      if (!candidate.subject.contains(static_cast<uint32_t>(rank))) {
        elsewhere.push_back(host_time(static_cast<uint32_t>(rank)));
      }
    }
    if (!elsewhere.empty()) usual_elsewhere = median(elsewhere);
  }
  struct Usual {
    double affected;
    double own;
  };
  std::map<uint32_t, Usual> usual;
  std::optional<Estimate> estimate;
  for (const uint32_t rank : candidate.subject.ranks()) {
    const uint32_t set = now.peers.set_of[rank];
    if (!job.ranks[rank].observed) {
      candidate.saved[rank] = waited_for(job, now.peers.sets[set].ranks);
      if (by_clock && computes && now.clock_deficits[rank] > 0) {
        const double compute = job.ranks[rank].share[static_cast<size_t>(TimeClass::kCompute)];
        const double deficit = std::min(now.clock_deficits[rank], 0.9);
        candidate.saved[rank] = std::min(candidate.saved[rank], compute * deficit / (1 - deficit));
      }
      candidate.effect_measured = false;
      continue;
    }
    auto found = usual.find(set);
    if (found == usual.end()) {
      found = usual
                  .emplace(set, Usual{usual_of(now.peers.sets[set], candidate.subject, affected),
                                      usual_of(now.peers.sets[set], candidate.subject, own)})
                  .first;
    }
    double saved = kNaN;
    if (!std::isnan(found->second.affected)) {
      saved = std::min(affected(rank) - found->second.affected, own(rank) - found->second.own);
    } else if (!in_functions.empty()) {
      saved = affected(rank);
    } else if (computes && !candidate.subject.is_all()) {
      saved = kernel_excess_share(job, now.index, candidate.subject, rank, kernel_class(*candidate.rule));
    }
    if (std::isnan(found->second.affected) && in_functions.empty() && !std::isnan(usual_elsewhere)) {
      // What the host does for a step depends little on the stage.
      saved = (std::isnan(saved) ? 0 : saved) + std::max(0.0, host_time(rank) - usual_elsewhere);
    }
    // Where the peers run at a low clock as well they show nothing of what the clock costs.
    if (by_clock && computes && (std::isnan(saved) || peers_deficit(rank) > kAlike * now.clock_deficits[rank])) {
      const double at_full_clock =
          now.clock_deficits[rank] * job.ranks[rank].share[static_cast<size_t>(TimeClass::kCompute)];
      saved = std::isnan(saved) ? at_full_clock : std::max(saved, at_full_clock);
    }
    if (std::isnan(saved)) {
      saved = of_user_python ? user_python_share(job, job.ranks[rank]) : 0;
      if (!of_user_python || !is_needed(*user_python)) {
        candidate.effect_measured = false;
        if (may_be_estimated(*candidate.rule)) {
          if (!estimate) estimate.emplace(candidate, facts, classes);
          saved = std::max(saved, estimate->share_of(rank));
        }
      }
    }
    candidate.saved[rank] = std::max(0.0, saved);
  }
}

// Messages of a pipeline last as long as their receiver waits: by themselves they do not show how fast data move.
std::vector<Transfer> without_messages(const Comparison& now) {
  std::vector<Transfer> transfers = now.transfers;
  std::erase_if(transfers, [&](const Transfer& transfer) { return is_exchange(now.job->words[transfer.kind]); });
  return transfers;
}

// By what the rule's own facts say of a transfer's time: so many times what it was, or so much of the wire for others.
double part_by_history(const Candidate& candidate, Facts& facts) {
  double part = 0;
  for (const EvidenceRule& evidence : candidate.rule->evidence) {
    if (!is_needed(evidence)) continue;
    if (evidence.fact != "baseline.transfer_ratio" && evidence.fact != "transfer.foreign_ratio") continue;
    const auto seen = facts.observe(evidence, candidate);
    if (seen && seen->value > 1) part = std::max(part, 1 - 1 / seen->value);
  }
  return part;
}

void measure_transfers(Candidate& candidate, Facts& facts) {
  const Comparison& now = facts.now();
  const Job& job = *now.job;
  if (std::none_of(now.transfers.begin(), now.transfers.end(),
                   [&](const Transfer& transfer) { return involves(transfer, candidate.subject); })) {
    return;
  }
  double exposed = 0;
  for (const uint32_t rank : candidate.subject.ranks()) {
    exposed += now.exposed_transfers[rank] / static_cast<double>(candidate.subject.ranks().size());
  }
  double part = 0;
  const auto ratio = may_be_estimated(*candidate.rule)
                         ? transfer_ratio(now.transfers, job, candidate.subject, Span::kUnknown)
                         : transfer_ratio(without_messages(now), job, candidate.subject, Span::kUnknown);
  if (ratio) {
    part = 1 - 1 / std::max(1.0, *ratio);
  }
  if (part < kLeastPart) {
    // A link with a part of its usual speed takes longer in proportion; how fast a link is that is never idle shows
    // beside the most that others reach.
    for (EvidenceRule evidence : candidate.rule->evidence) {
      if (!is_needed(evidence) || looks_for_more(evidence.bounds) || !tells_speed(evidence.fact)) continue;
      if (evidence.statistic != Statistic::kMean) evidence.statistic = Statistic::kMaximum;
      const auto seen = facts.observe(evidence, candidate);
      if (!seen || !seen->peers_median || *seen->peers_median <= 0) continue;
      part = std::max(part, std::clamp(1 - seen->value / *seen->peers_median, 0.0, 0.8));
    }
  }
  if (part < kLeastPart) part = std::max(part, part_by_history(candidate, facts));
  // Where time outside of transfers is known to be lost, nothing is made up for transfers.
  const bool loses_own_time = candidate.effect_measured && std::any_of(candidate.saved.begin(), candidate.saved.end(),
                                                                       [](double saved) { return saved > kLeastPart; });
  if (part < kLeastPart) {
    if (loses_own_time || !may_be_estimated(*candidate.rule)) return;
    candidate.effect_measured = false;
    // A rate that is well below the interfaces' tells more than a guess.
    const auto slow = candidate.rule->scope == Scope::kLink ? slow_wire_part(now, candidate.subject) : std::nullopt;
    part = slow && *slow > kLeastPart ? *slow : kUnmeasuredPart;
  }
  candidate.communication_saved = exposed * part;
}

// What is itself a share of a rank's time: in which it could not work, or, at most, did what its peers do not.
bool is_lost_time(std::string_view fact) {
  return fact == "cpu.throttled" || fact == "cpu.main_thread_runnable_wait" || fact == "cpu.runnable_wait" ||
         fact == "python.gc" || fact == "kernels.other_share";
}

// What stops a rank for a tenth of the time explains a tenth, with some allowance for samples that miss a part.
void limit_to_signal(Candidate& candidate, Facts& facts) {
  constexpr double kAllowance = 1.5;
  std::optional<double> stopped;
  for (const EvidenceRule& evidence : candidate.rule->evidence) {
    if (!is_needed(evidence) || !is_lost_time(evidence.fact)) continue;
    if (!evidence.entity.empty() && evidence.entity != "rank") continue;
    const auto seen = facts.observe(evidence, candidate);
    if (!seen) continue;
    stopped = std::max(stopped.value_or(0), seen->value - seen->peers_median.value_or(0));
  }
  if (!stopped) return;
  double before = 0;
  double after = 0;
  for (const uint32_t rank : candidate.subject.ranks()) {
    before += candidate.saved[rank];
    candidate.saved[rank] = std::min(candidate.saved[rank], kAllowance * std::max(0.0, *stopped));
    after += candidate.saved[rank];
  }
  if (before > 0) candidate.explained = after / before;
}

}  // namespace

KernelClass kernel_class(const Rule& rule) {
  if (rule.kernels.size() != 1) return KernelClass::kAny;
  return rule.kernels.front() == "gemm"           ? KernelClass::kMatrix
         : rule.kernels.front() == "memory_bound" ? KernelClass::kMemoryBound
                                                  : KernelClass::kAny;
}

void measure_effect(Candidate& candidate, Facts& facts) {
  const Job& job = *facts.now().job;
  candidate.saved.assign(job.ranks.size(), 0.0);
  const std::vector<TimeClass> classes = affected_classes(*candidate.rule, job);
  const auto communication = std::find(classes.begin(), classes.end(), TimeClass::kCommunication);
  if (candidate.rule->subject == SubjectBy::kMoving) {
    for (const StepVariation& variation : facts.now().variation) {
      candidate.effect = std::max(candidate.effect, variation.moving_share);
    }
    candidate.communication_saved = candidate.effect;
    return;
  }
  if (candidate.rule->subject == SubjectBy::kStage) {
    EvidenceRule excess;
    excess.fact = "work.stage_excess_share";
    if (const auto seen = facts.observe(excess, candidate)) candidate.effect = seen->value;
    for (const uint32_t rank : candidate.subject.ranks()) candidate.saved[rank] = candidate.effect;
    return;
  }
  if (classes.size() > (communication != classes.end() ? 1U : 0U)) measure_own_time(candidate, facts, classes);
  if (communication != classes.end()) measure_transfers(candidate, facts);
  limit_to_signal(candidate, facts);
  for (const uint32_t rank : candidate.subject.ranks()) {
    candidate.effect += candidate.saved[rank] / static_cast<double>(candidate.subject.ranks().size());
  }
  // Devices wait a little in every job: how much of it is the cause's is not known.
  if (!candidate.effect_measured && idles_device(*candidate.rule, job)) {
    const bool of_user_python = needs_or_likes(*candidate.rule, "function.user_share");
    candidate.effect = 0;
    for (const uint32_t rank : candidate.subject.ranks()) {
      const RankFacts& facts_of = job.ranks[rank];
      const double surely = std::max(kUnmeasuredPart * own_share(facts_of, classes),
                                     of_user_python ? user_python_share(job, facts_of) : 0.0);
      candidate.effect +=
          std::min(candidate.saved[rank], surely) / static_cast<double>(candidate.subject.ranks().size());
    }
  }
  candidate.effect += candidate.communication_saved;
}

}  // namespace eroica
