#include "diagnose/diagnose_blocked.h"

#include <algorithm>

#include <fmt/format.h>

#include "diagnose/describe.h"
#include "diagnose/evaluate.h"

namespace eroica {
namespace {

constexpr size_t kMostStacks = 8;
constexpr size_t kMostAlternatives = 6;

std::string state_in_words(Absence absence) {
  switch (absence) {
    case Absence::kElsewhere:
      return "its process runs, and is in no collective";
    case Absence::kGone:
      return "its process is gone: its trace or its samples end before the others'";
    case Absence::kStopped:
      return "its process exists and uses no CPU time at all: it is stopped";
    case Absence::kGoneOrStopped:
      return "its trace ends before the others'; without samples of its CPU time it may be gone or stopped";
    case Absence::kMismatch:
      return "it is in another collective than the rest of its group";
    case Absence::kCycle:
      return "it waits in a group whose members wait for it";
  }
  return {};
}

std::string name_of(const JobGroup& group) {
  if (group.name.empty() || group.desc.empty()) return group.name + group.desc;
  return fmt::format("{} ({})", group.name, group.desc);
}

std::vector<int32_t> numbers(const Job& job, const std::vector<uint32_t>& ranks) {
  std::vector<int32_t> result;
  result.reserve(ranks.size());
  for (const uint32_t rank : ranks) result.push_back(job.ranks[rank].rank);
  return result;
}

Blocked in_words(const BlockedJob& blocked, const Comparison& now) {
  const Job& job = *now.job;
  Blocked result;
  result.group = name_of(job.groups[blocked.group]);
  result.sequence = blocked.sequence;
  result.operation = job.words[blocked.kind];
  result.waiting = numbers(job, blocked.waiting);
  result.missing = numbers(job, blocked.missing);
  for (size_t i = 0; i < std::min(blocked.missing.size(), kMostStacks); ++i) {
    const int32_t rank = result.missing[i];
    if (const std::string stack = final_stack(job, *now.names, blocked.missing[i]); !stack.empty()) {
      result.stacks.push_back(fmt::format("rank {}: {}", rank, stack));
    }
    result.process_state.push_back(fmt::format("rank {}: {}", rank, state_in_words(blocked.absence[i])));
  }
  result.missing.insert(result.missing.end(), blocked.untraced.begin(), blocked.untraced.end());
  std::sort(result.missing.begin(), result.missing.end());
  for (size_t i = 0; i < std::min(blocked.untraced.size(), kMostStacks); ++i) {
    result.process_state.push_back(
        fmt::format("rank {}: there is no trace of it; its process may be gone", blocked.untraced[i]));
  }
  return result;
}

// The user's function in which the first missing rank stands, else the innermost one.
std::optional<FunctionRef> function_of(const BlockedJob& blocked, const Comparison& now) {
  const Job& job = *now.job;
  for (const uint32_t rank : blocked.missing) {
    const RankEnd* end = end_of(job, rank);
    if (end == nullptr || end->frame == 0) continue;
    const bool user = end->user_frame != 0;
    const auto name = now.names->find(job.functions[(user ? end->user_frame : end->frame) - 1].hash);
    if (name == now.names->end()) continue;
    FunctionRef result;
    result.name = name->second.text;
    result.kind = function_kind_name(name->second.kind);
    result.file = name->second.file;
    result.line = user ? end->user_line : end->line;
    result.path = name->second.path;
    return result;
  }
  return std::nullopt;
}

std::string amount(int64_t bytes) { return bytes > 0 ? fmt::format(" of {} bytes", bytes) : std::string(); }

// What both sides of a mismatch entered.
std::string mismatch_in_words(const BlockedJob& blocked, const Job& job) {
  if (blocked.missing.empty() || blocked.absence.front() != Absence::kMismatch || blocked.opposite.empty()) return {};
  const auto entered = [&](uint32_t rank) {
    const OpenUse& open = job.opens_of(*end_of(job, rank)).front();
    return fmt::format("rank {} is in {}{}", job.ranks[rank].rank, job.words[open.kind], amount(open.bytes));
  };
  return fmt::format(" In group {}, {}, {}.", name_of(job.groups[blocked.group]), entered(blocked.missing.front()),
                     entered(blocked.opposite.front()));
}

}  // namespace

void diagnose_blocked(Facts& facts, std::span<const Rule> rules, Conclusion& conclusion) {
  const Comparison& now = facts.now();
  const Job& job = *now.job;
  const BlockedJob& blocked = *now.blocked;
  conclusion.blocked = in_words(blocked, now);
  conclusion.victims = numbers(job, blocked.waiting);
  conclusion.what_if.step_ms_without_findings = job.step_ms;
  conclusion.what_if.step_ms = job.step_ms;

  std::vector<Match> matches;
  std::vector<Rejection> rejections;
  for (const Rule& rule : rules) {
    if (rule.subject != SubjectBy::kBlocked) continue;
    Evaluation evaluation = evaluate(rule, facts);
    for (Match& match : evaluation.matches) matches.push_back(std::move(match));
    if (evaluation.matches.empty() && evaluation.rejection) rejections.push_back(std::move(*evaluation.rejection));
  }
  if (matches.empty()) return;
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& a, const Match& b) { return a.confidence > b.confidence; });
  Selected selected{std::move(matches.front()), {}};
  for (size_t i = 1; i < matches.size(); ++i) selected.alternatives.push_back(std::move(matches[i]));

  Diagnosis diagnosis = describe(selected, {}, facts);
  for (const Rejection& rejection : rejections) {
    if (diagnosis.alternatives.size() == kMostAlternatives) break;
    diagnosis.alternatives.push_back({rejection.rule->cause, 0, rejection.reason});
  }
  diagnosis.function = function_of(blocked, now);
  diagnosis.lost_ms_per_step = job.step_ms;
  diagnosis.marginal_ms_per_step = job.step_ms;
  const double world = std::max<double>(static_cast<double>(job.ranks.size()), job.world_size);
  diagnosis.lost_gpu_seconds_per_hour = 3600 * world;
  diagnosis.evidence.push_back({"the longest wait in a collective at the end of the window",
                                blocked.waited_ms,
                                "ms",
                                {},
                                {},
                                conclusion.victims});
  diagnosis.summary = fill_in(selected.match.candidate.rule->say, diagnosis, selected.match, job.step_ms) +
                      mismatch_in_words(blocked, job);
  if (diagnosis.function && blocked.absence.front() == Absence::kElsewhere) {
    diagnosis.summary += fmt::format(" It stands in {}.", in_words(*diagnosis.function));
  }
  (diagnosis.confidence >= kClaimConfidence ? conclusion.diagnoses : conclusion.hints).push_back(std::move(diagnosis));
}

}  // namespace eroica
