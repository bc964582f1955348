#include "diagnose/facts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "base/robust.h"
#include "compare/unobserved.h"
#include "diagnose/label_identity.h"
#include "diagnose/observed.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

// Does a label have a value of its own on each rank or host, as names and device numbers do? `most`: ranks that share
// the usual value; `some_without`: ranks that have none.
bool is_of_each_rank(std::string_view key, size_t values, size_t most, bool some_without, size_t ranks) {
  if (values > 2) return values * 4 > ranks + 4;
  return most < 2 && key.starts_with("env.") && !some_without;
}

}  // namespace

Facts::Facts(const Comparison& now, const Comparison* baseline)
    : now_(&now), baseline_(baseline), matcher_(*now.job, *now.names) {}

std::optional<SeenFact> Facts::observe(const EvidenceRule& evidence, const Candidate& candidate) {
  const KnownFact* known = find_fact(evidence.fact);
  if (known == nullptr) return std::nullopt;
  if (is_signal(*known)) {
    if (evidence.statistic == Statistic::kMean) {
      if (auto seen = use_by_kernels(evidence, candidate)) return seen;
    }
    return signal(evidence, candidate);
  }
  const std::string_view fact = evidence.fact;
  const bool of_trace = fact.starts_with("time.") || fact.starts_with("kernels.") || fact.starts_with("work.") ||
                        fact.starts_with("function.");
  if (of_trace && !is_observed(candidate.subject, *now_->job)) return std::nullopt;
  if (fact.starts_with("time.")) return time(fact, candidate);
  if (fact.starts_with("kernels.")) return kernels(fact, candidate);
  if (fact.starts_with("work.")) return work(fact, candidate);
  if (fact.starts_with("function.")) return function(fact, evidence, candidate);
  if (fact.starts_with("transfer.")) return transfer(fact, candidate);
  if (fact.starts_with("label.")) return label(evidence, candidate);
  if (fact.starts_with("blocked.")) return blocked(fact, candidate);
  if (fact.starts_with("baseline.")) return from_baseline(fact, evidence);
  return other(fact, candidate);
}

const std::vector<double>& Facts::kernel_excess(KernelClass which) {
  const auto [found, is_new] = kernel_excess_.try_emplace(which);
  if (is_new) found->second = kernel_excess_shares(*now_->job, now_->index, which);
  return found->second;
}

std::string label_keys(const EvidenceRule& evidence) {
  if (evidence.fact == "label.env_differs") return "^env\\.";
  return evidence.function.empty() ? "." : evidence.function;
}

std::optional<SeenFact> Facts::label(const EvidenceRule& evidence, const Candidate& candidate) {
  const std::string keys = label_keys(evidence);
  const std::vector<uint32_t> minority = label_minority(keys);
  const std::vector<uint32_t> other = label_minority(keys, true);
  const Job& job = *now_->job;
  if (std::all_of(job.ranks.begin(), job.ranks.end(),
                  [&](const RankFacts& rank) { return job.label_sets[rank.labels].empty(); })) {
    return std::nullopt;
  }
  size_t differing = 0;
  for (const uint32_t rank : candidate.subject.ranks()) {
    if (std::binary_search(minority.begin(), minority.end(), rank) ||
        std::binary_search(other.begin(), other.end(), rank)) {
      ++differing;
    }
  }
  SeenFact seen;
  seen.value = 2 * differing > candidate.subject.ranks().size() ? 1 : 0;
  seen.peers_median = 0;
  return seen;
}

std::vector<uint32_t> Facts::label_minority(const std::string& expression, bool other_half) const {
  const Job& job = *now_->job;
  std::map<std::string, std::map<std::string, std::vector<uint32_t>>> by_key;  // key → value → label sets
  for (uint32_t set = 0; set < job.label_sets.size(); ++set) {
    for (const auto& [key, value] : job.label_sets[set]) {
      if (matches_text(key, expression)) by_key[key][value].push_back(set);
    }
  }
  std::vector<size_t> ranks_of(job.label_sets.size());
  for (const RankFacts& rank : job.ranks) ++ranks_of[rank.labels];
  std::unordered_set<uint32_t> odd;
  for (auto& [key, values] : by_key) {
    // A rank without the key differs from those that have it, where most do.
    size_t with = 0;
    for (const auto& [value, sets] : values) {
      for (const uint32_t set : sets) with += ranks_of[set];
    }
    if (with < job.ranks.size()) {
      std::vector<uint32_t> without;
      for (uint32_t set = 0; set < job.label_sets.size(); ++set) {
        if (!job.label_sets[set].contains(key)) without.push_back(set);
      }
      values["(absent)"] = std::move(without);
    }
    if (values.size() < 2) continue;
    size_t most = 0;
    const std::string* usual = nullptr;
    for (const auto& [value, sets] : values) {
      size_t count = 0;
      for (const uint32_t set : sets) count += ranks_of[set];
      if (count > most || (other_half && count == most)) {
        most = count;
        usual = &value;
      }
    }
    if (usual == nullptr || is_of_each_rank(key, values.size(), most, with < job.ranks.size(), job.ranks.size()) ||
        is_identity(job, key)) {
      continue;
    }
    for (const auto& [value, sets] : values) {
      if (&value != usual) odd.insert(sets.begin(), sets.end());
    }
  }
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (odd.contains(job.ranks[rank].labels)) ranks.push_back(rank);
  }
  return ranks;
}

std::optional<SeenFact> Facts::other(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  if (fact == "trace.events_ratio") {
    return relative(
        contrasted(*now_, candidate, [&](uint32_t rank) { return static_cast<double>(job.ranks[rank].events); }));
  }
  if (fact == "steps.repeated_share") {
    return contrasted(*now_, candidate, [&](uint32_t rank) { return repeated_share(job, job.ranks[rank]); });
  }
  if (fact == "steps.irregular_share") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      const auto steps = job.steps_of(job.ranks[rank]);
      if (steps.empty()) return 0.0;
      const auto irregular =
          std::count_if(steps.begin(), steps.end(), [](const StepFacts& step) { return !step.regular; });
      return static_cast<double>(irregular) / static_cast<double>(steps.size());
    });
  }
  return std::nullopt;
}

}  // namespace eroica
