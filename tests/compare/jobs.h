#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/job.h"
#include "compare/peers.h"

namespace eroica {

/// A job of `ranks` ranks with nothing known of them but their number. Inline: small enough to be read with the tests.
inline Job bare_job(size_t ranks) {
  Job job;
  job.step_ms = 100;
  for (size_t i = 0; i < ranks; ++i) {
    RankFacts rank;
    rank.rank = static_cast<int32_t>(i);
    rank.step_ms = 100;
    job.ranks.push_back(rank);
  }
  return job;
}

/// Adds a rank's share of the window in exposed communication.
inline void set_communication(Job& job, size_t rank, float share) {
  job.ranks[rank].share[static_cast<size_t>(TimeClass::kCommunication)] = share;
}

inline uint32_t add_word(Job& job, const std::string& word) {
  job.words.push_back(word);
  return static_cast<uint32_t>(job.words.size()) - 1;
}

inline uint32_t add_function(Job& job, FunctionKind kind, Workload workload = Workload::kNone) {
  JobFunction function;
  function.hash = job.functions.size() + 1;
  function.kind = kind;
  function.workload = workload;
  job.functions.push_back(function);
  return static_cast<uint32_t>(job.functions.size()) - 1;
}

/// Uses must be added rank after rank.
inline void add_use(Job& job, size_t rank, const FunctionUse& use) {
  RankFacts& facts = job.ranks[rank];
  if (facts.uses_end == 0) facts.uses_begin = static_cast<uint32_t>(job.uses.size());
  job.uses.push_back(use);
  facts.uses_end = static_cast<uint32_t>(job.uses.size());
}

/// Steps must be added rank after rank.
inline void add_step(Job& job, size_t rank, float duration_ms, float own_ms, float work = 0) {
  RankFacts& facts = job.ranks[rank];
  if (facts.steps_end == 0) facts.steps_begin = facts.steps_end = static_cast<uint32_t>(job.steps.size());
  StepFacts step;
  step.number = facts.steps_end - facts.steps_begin;
  step.duration_ms = duration_ms;
  step.own_ms = own_ms;
  step.work = work;
  job.steps.push_back(step);
  facts.steps_end = static_cast<uint32_t>(job.steps.size());
}

/// Adds a group and its collective on all its members. Members must be added rank after rank over all calls; so one
/// group after another only where they share no rank.
inline uint32_t add_group(Job& job, const std::vector<int32_t>& ranks, uint32_t kind, float p50_us,
                          float bytes = 1 << 20) {
  const auto group = static_cast<uint32_t>(job.groups.size());
  job.groups.push_back({"group " + std::to_string(group), "", ranks, static_cast<int32_t>(ranks.size())});
  for (const int32_t rank : ranks) {
    RankFacts& facts = job.ranks[static_cast<size_t>(rank)];
    if (facts.collectives_end == 0) facts.collectives_begin = static_cast<uint32_t>(job.collectives.size());
    CollectiveUse use;
    use.group = group;
    use.kind = kind;
    use.count = 1;
    use.bytes = bytes;
    use.p50_us = p50_us;
    use.p99_us = p50_us;
    job.collectives.push_back(use);
    facts.collectives_end = static_cast<uint32_t>(job.collectives.size());
  }
  return group;
}

/// All ranks as one set.
inline Peers one_set(size_t ranks) {
  Peers peers;
  PeerSet set{"all ranks", "", {}, 0};
  for (uint32_t i = 0; i < ranks; ++i) set.ranks.push_back(i);
  peers.sets.push_back(std::move(set));
  peers.set_of.assign(ranks, 0);
  return peers;
}

}  // namespace eroica
