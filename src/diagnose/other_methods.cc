#include "diagnose/other_methods.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/robust.h"
#include "compare/eroica_method.h"
#include "compare/naive_methods.h"

namespace eroica {
namespace {

constexpr double kEroicaConfidence = 0.7;  // the methods give none; these only make claims of what they say
constexpr double kNaiveConfidence = kClaimConfidence;

std::string_view guessed_cause(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::kCompute:
      return "gpu.slow_unexplained";
    case FunctionKind::kMemory:
      return "pcie.link_downgrade";
    case FunctionKind::kCollective:
      return "nic.slow_link";
    case FunctionKind::kFetch:
      return "data.slow_local_disk";
    default:
      return "code.slow_function";
  }
}

/// Of the mean complete regular step over ranks, the median; the window's length where no steps were found.
double usual_step_ms(std::span<const RankPattern> patterns) {
  std::vector<double> means;
  for (const RankPattern& pattern : patterns) {
    std::vector<double> steps;
    for (const StepPattern& step : pattern.steps) {
      if (step.complete && !step.irregular) steps.push_back(static_cast<double>(step.duration_ns) * 1e-6);
    }
    const auto window_ms = static_cast<double>(pattern.window_ns) * 1e-6;
    means.push_back(steps.empty()
                        ? window_ms
                        : std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size()));
  }
  return median(means);
}

int32_t line_of(uint64_t function, int32_t rank, std::span<const RankPattern> patterns) {
  const auto pattern = std::ranges::find(patterns, rank, &RankPattern::rank);
  if (pattern == patterns.end()) return 0;
  const auto found = std::ranges::find(pattern->functions, function, &FunctionPattern::name);
  return found == pattern->functions.end() ? 0 : found->line;
}

/// What is the same for all methods.
struct Answer {
  std::span<const RankPattern> patterns;
  const NameTable* names;
  std::span<const Rule> rules;

  [[nodiscard]] Diagnosis diagnosis(uint64_t function, FunctionKind kind, std::vector<int32_t> ranks) const {
    Diagnosis result;
    result.cause = guessed_cause(kind);
    const auto rule = std::ranges::find(rules, result.cause, &Rule::cause);
    result.title = rule != rules.end() ? rule->title : result.cause;
    result.action = rule != rules.end() ? rule->action : "Compare the function on these ranks with the others.";
    FunctionRef reference;
    reference.kind = function_kind_name(kind);
    reference.line = line_of(function, ranks.front(), patterns);
    if (const auto name = names->find(function); name != names->end()) {
      reference.name = name->second.text;
      reference.file = name->second.file;
      reference.path = name->second.path;
    }
    result.function = std::move(reference);
    const bool all = patterns.size() > 1 && ranks.size() == patterns.size();
    result.scope = all ? Scope::kAll : Scope::kRanks;
    if (!all) result.ranks = std::move(ranks);
    return result;
  }

  /// `lost_share`: of the step.
  void set_loss(Diagnosis& diagnosis, double lost_share) const {
    auto world = static_cast<int32_t>(patterns.size());
    for (const RankPattern& pattern : patterns) world = std::max(world, pattern.world_size);
    const double share = std::clamp(lost_share, 0.0, 1.0);
    diagnosis.lost_ms_per_step = share * usual_step_ms(patterns);
    diagnosis.marginal_ms_per_step = diagnosis.lost_ms_per_step;
    diagnosis.lost_gpu_seconds_per_hour = share * 3600 * world;
  }

  [[nodiscard]] Conclusion conclude(std::vector<Diagnosis> diagnoses, const std::string& method) const {
    Conclusion conclusion;
    PeerGroup everybody{"all ranks", "this method compares all ranks with each other", {}};
    std::vector<int32_t> named;
    bool of_some = false;
    for (const Diagnosis& diagnosis : diagnoses) {
      named.insert(named.end(), diagnosis.ranks.begin(), diagnosis.ranks.end());
      of_some = of_some || !diagnosis.ranks.empty();
    }
    for (const RankPattern& pattern : patterns) everybody.ranks.push_back(pattern.rank);
    std::ranges::sort(everybody.ranks);
    for (const int32_t rank : everybody.ranks) {
      if (of_some && std::ranges::find(named, rank) == named.end()) conclusion.victims.push_back(rank);
    }
    conclusion.peer_groups.push_back(std::move(everybody));
    conclusion.diagnoses = std::move(diagnoses);
    conclusion.notes.push_back(fmt::format(
        "concluded by --method {} alone: it names a function and ranks; the cause is guessed from the function's kind",
        method));
    return conclusion;
  }
};

/// A single claim, or none.
Conclusion naive(const Answer& answer, const std::optional<NaiveFinding>& found, const std::string& method,
                 const std::string& what, const std::string& unit) {
  if (!found) return answer.conclude({}, method);
  Diagnosis diagnosis = answer.diagnosis(found->function, found->kind, {found->rank});
  diagnosis.confidence = kNaiveConfidence;
  diagnosis.confidence_why.emplace_back("the method always names the largest");
  diagnosis.evidence.push_back({what, found->value, unit, found->peers_median, std::nullopt, {found->rank}});
  diagnosis.summary = fmt::format("Rank {} has the largest: {}.", found->rank, what);
  std::vector<Diagnosis> claims;
  claims.push_back(std::move(diagnosis));
  return answer.conclude(std::move(claims), method);
}

}  // namespace

Conclusion conclude_by_eroica(std::span<const RankPattern> patterns, const NameTable& names,
                              std::span<const Rule> rules) {
  const Answer answer{patterns, &names, rules};
  std::vector<Diagnosis> diagnoses;
  std::map<std::pair<std::string_view, std::vector<int32_t>>, size_t> known;
  for (const AbnormalFunction& found : eroica_method(patterns)) {
    const auto [place, is_new] = known.try_emplace({guessed_cause(found.kind), found.ranks}, diagnoses.size());
    Evidence evidence{
        "share of the step's critical path", found.share, "share", found.others_share, std::nullopt, found.ranks};
    if (!is_new) {
      const auto name = names.find(found.function);
      evidence.what += " in " + (name != names.end() ? name->second.text : fmt::format("{:016x}", found.function));
      diagnoses[place->second].evidence.push_back(std::move(evidence));
      continue;
    }
    Diagnosis diagnosis = answer.diagnosis(found.function, found.kind, found.ranks);
    diagnosis.confidence = kEroicaConfidence;
    if (found.out_of_range > 0) {
      diagnosis.confidence_why.push_back(
          fmt::format("{:.1f} % of the critical path above what is expected of host code", found.out_of_range * 100));
    }
    if (found.sampled > 1) {
      diagnosis.confidence_why.push_back(
          fmt::format("its pattern differs from that of {} of {} sampled ranks", found.differing, found.sampled));
    }
    diagnosis.summary = fmt::format("{:.1f} % of the critical path is in this function, {:.1f} % on the other ranks.",
                                    found.share * 100, found.others_share * 100);
    diagnosis.evidence.push_back(std::move(evidence));
    answer.set_loss(diagnosis, found.share - found.others_share);
    diagnoses.push_back(std::move(diagnosis));
  }
  return answer.conclude(std::move(diagnoses), "eroica");
}

Conclusion conclude_by_largest_total(std::span<const RankPattern> patterns, const NameTable& names,
                                     std::span<const Rule> rules) {
  return naive({patterns, &names, rules}, largest_total(patterns), "largest-total",
               "total time of one function over the window", "share");
}

Conclusion conclude_by_longest_collective(std::span<const RankPattern> patterns, const NameTable& names,
                                          std::span<const Rule> rules) {
  return naive({patterns, &names, rules}, longest_collective(patterns), "longest-collective",
               "mean duration of collectives", "ms");
}

}  // namespace eroica
