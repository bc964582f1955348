#include "diagnose/select.h"

#include <algorithm>
#include <numeric>

#include "diagnose/candidates.h"

namespace eroica {
namespace {

size_t common_ranks(const Subject& a, const Subject& b) {
  const Subject& smaller = a.ranks().size() < b.ranks().size() ? a : b;
  const Subject& larger = &smaller == &a ? b : a;
  return static_cast<size_t>(std::count_if(smaller.ranks().begin(), smaller.ranks().end(),
                                           [&](uint32_t rank) { return larger.contains(rank); }));
}

// What all ranks show and what some do explain each other only where they are about as large.
bool are_of_one_size(const Match& a, const Match& b) {
  constexpr double kSeveralTimes = 3;
  if (a.candidate.rule == b.candidate.rule || a.candidate.subject.is_all() == b.candidate.subject.is_all()) return true;
  const double larger = std::max(a.candidate.effect, b.candidate.effect);
  return larger <= kSeveralTimes * std::min(a.candidate.effect, b.candidate.effect);
}

bool explains_same(const Match& a, const Match& b, const Job& job) {
  if (!are_of_one_size(a, b)) return false;
  if (!share_classes(*a.candidate.rule, *b.candidate.rule, job)) return false;
  const size_t common = common_ranks(a.candidate.subject, b.candidate.subject);
  const size_t smaller = std::min(a.candidate.subject.ranks().size(), b.candidate.subject.ranks().size());
  return 2 * common >= smaller;
}

bool yields(const Rule& rule, const Rule& to) {
  return std::find(rule.yields_to.begin(), rule.yields_to.end(), to.cause) != rule.yields_to.end();
}

double total_saved(const Match& match) {
  return std::accumulate(match.candidate.saved.begin(), match.candidate.saved.end(), 0.0) +
         match.candidate.communication_saved * static_cast<double>(match.candidate.subject.ranks().size());
}

constexpr double kStrong = 0.5;

}  // namespace

std::vector<Selected> select(std::vector<Match> matches, Facts& facts) {
  const Job& job = *facts.now().job;
  // What yields goes behind what it yields to.
  std::vector<bool> yielded(matches.size());
  for (size_t i = 0; i < matches.size(); ++i) {
    for (size_t j = 0; j < matches.size(); ++j) {
      if (i != j && matches[j].confidence >= kStrong &&
          yields(*matches[i].candidate.rule, *matches[j].candidate.rule) &&
          explains_same(matches[i], matches[j], job)) {
        yielded[i] = true;
      }
    }
  }
  std::vector<size_t> order(matches.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (yielded[a] != yielded[b]) return !yielded[a];
    // Of one rule's subjects the one that explains most in all stands for it.
    if (matches[a].candidate.rule == matches[b].candidate.rule) {
      const bool all_a = matches[a].candidate.subject.is_all() && matches[b].confidence >= kStrong;
      const bool all_b = matches[b].candidate.subject.is_all() && matches[a].confidence >= kStrong;
      if (all_a != all_b) return all_b;
      const double explains_a = matches[a].confidence * total_saved(matches[a]);
      const double explains_b = matches[b].confidence * total_saved(matches[b]);
      if (explains_a != explains_b) return explains_a > explains_b;
    }
    if (matches[a].confidence != matches[b].confidence) return matches[a].confidence > matches[b].confidence;
    return matches[a].candidate.effect > matches[b].candidate.effect;
  });
  std::vector<Selected> kept;
  for (const size_t i : order) {
    Match& match = matches[i];
    Selected* explained_by = nullptr;
    for (Selected& other : kept) {
      if (explains_same(match, other.match, job)) {
        explained_by = &other;
        break;
      }
    }
    if (explained_by != nullptr) {
      explained_by->alternatives.push_back(std::move(match));
    } else {
      kept.push_back({std::move(match), {}});
    }
  }
  return kept;
}

}  // namespace eroica
