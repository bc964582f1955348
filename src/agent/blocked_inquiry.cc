#include "agent/blocked_inquiry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/rank_list.h"
#include "base/words.h"
#include "diagnose/describe.h"
#include "pattern/python_path.h"

namespace eroica {
namespace {

constexpr size_t kMostStacks = 8;
constexpr size_t kMostFrames = 6;

/// One group in which members wait for others.
struct Wait {
  const ProcessGroup* group = nullptr;
  int64_t sequence = -1;
  std::string operation;
  std::vector<int32_t> waiting;
  std::vector<int32_t> missing;
  bool guessed = false;  ///< nothing is known here of the missing: they are on other hosts, or never began
  bool mismatch = false;
  std::string differs;  ///< of a mismatch: who entered what
};

using ByRank = std::map<int32_t, const RankInquiry*>;

const RankInquiry* find(const ByRank& ranks, int32_t rank) {
  const auto found = ranks.find(rank);
  return found == ranks.end() ? nullptr : found->second;
}

const RecorderGroup* find(const RankInquiry* rank, const std::string& group) {
  if (rank == nullptr) return nullptr;
  const auto found = std::ranges::find(rank->groups, group, &RecorderGroup::name);
  return found == rank->groups.end() ? nullptr : &*found;
}

/// All are in a collective of one number: those whose operation or sizes are not the usual ones are to blame.
void find_mismatch(Wait& wait, const ByRank& ranks) {
  std::map<std::string, std::vector<int32_t>> kinds;
  for (const int32_t rank : wait.waiting) {
    const RecorderGroup* seen = find(find(ranks, rank), wait.group->name);
    if (seen == nullptr || seen->operation.empty()) return;
    kinds[seen->operation + " of " + seen->sizes].push_back(rank);
  }
  if (kinds.size() < 2) return;
  const auto usual =
      std::ranges::max_element(kinds, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  wait.mismatch = true;
  std::vector<int32_t> rest = usual->second;
  for (const auto& [kind, members] : kinds) {
    wait.differs += fmt::format("{}{} entered {}", wait.differs.empty() ? "" : ", ", rank_list(members), kind);
    if (&members != &usual->second) wait.missing.insert(wait.missing.end(), members.begin(), members.end());
  }
  std::ranges::sort(wait.missing);
  wait.waiting = std::move(rest);
}

std::optional<Wait> wait_in(const ProcessGroup& group, const ByRank& ranks) {
  Wait wait;
  wait.group = &group;
  for (const int32_t rank : group.ranks) {
    if (const RecorderGroup* seen = find(find(ranks, rank), group.name)) {
      wait.sequence = std::max(wait.sequence, seen->enqueued);
    }
  }
  if (wait.sequence < 0) return std::nullopt;
  std::vector<int32_t> unknown;
  for (const int32_t rank : group.ranks) {
    const RankInquiry* inquiry = find(ranks, rank);
    const RecorderGroup* seen = find(inquiry, group.name);
    if (inquiry == nullptr) {
      unknown.push_back(rank);
    } else if (seen != nullptr && seen->enqueued == wait.sequence && !inquiry->process.dead()) {
      if (seen->completed >= wait.sequence) continue;
      wait.waiting.push_back(rank);
      if (wait.operation.empty()) wait.operation = seen->operation;
    } else {
      wait.missing.push_back(rank);
    }
  }
  if (wait.waiting.empty()) return std::nullopt;
  if (wait.missing.empty()) find_mismatch(wait, ranks);
  if (wait.missing.empty()) {  // one of those, at least
    wait.guessed = true;
    wait.missing = std::move(unknown);
  }
  if (wait.missing.empty()) return std::nullopt;
  std::ranges::sort(wait.waiting);
  std::ranges::sort(wait.missing);
  return wait;
}

/// The wait to tell of: one whose missing ranks wait for nobody themselves, with the most who wait; `deadlock` where
/// all missing ranks wait elsewhere.
const Wait* root_of(const std::vector<Wait>& waits, bool& deadlock) {
  std::set<int32_t> waiting;
  for (const Wait& wait : waits) waiting.insert(wait.waiting.begin(), wait.waiting.end());
  const Wait* best = nullptr;
  for (const Wait& wait : waits) {
    const bool free =
        wait.mismatch || std::ranges::any_of(wait.missing, [&](int32_t r) { return !waiting.contains(r); });
    const auto weight = [](const Wait& one) { return std::pair(!one.guessed, one.waiting.size()); };
    if (free && (best == nullptr || weight(wait) > weight(*best))) best = &wait;
  }
  deadlock = best == nullptr && !waits.empty();
  return deadlock ? &waits.front() : best;
}

const Rule* rule_of(std::string_view cause, std::span<const Rule> rules) {
  const auto found = std::ranges::find(rules, cause, &Rule::cause);
  return found == rules.end() ? nullptr : &*found;
}

std::string cause_of(const Wait& wait, bool deadlock, const ByRank& ranks) {
  bool stopped = false;
  for (const int32_t rank : wait.missing) {
    const RankInquiry* inquiry = find(ranks, rank);
    if (inquiry != nullptr && inquiry->process.dead()) return "blocked.process_dead";
    stopped = stopped || (inquiry != nullptr && inquiry->process.stopped());
  }
  if (stopped) return "blocked.process_stopped";
  if (wait.mismatch) return "blocked.mismatch";
  return deadlock ? "blocked.deadlock" : "blocked.rank";
}

std::optional<FunctionRef> function_of(const RankInquiry& inquiry) {
  if (inquiry.stack.empty()) return std::nullopt;
  size_t at = innermost_user_frame(inquiry.stack);
  if (at == inquiry.stack.size()) at = 0;
  const StackFrame& frame = inquiry.stack[at];
  FunctionRef function;
  function.name = frame.function;
  function.kind = function_kind_name(FunctionKind::kPython);
  function.file = canonical_python_path(frame.file).text;
  function.line = frame.line;
  for (size_t i = inquiry.stack.size(); i > at + 1; --i) function.path.push_back(inquiry.stack[i - 1].function);
  return function;
}

std::string group_name(const ProcessGroup& group) {
  return group.desc.empty() || group.desc == "undefined" ? group.name : fmt::format("{} ({})", group.name, group.desc);
}

std::string state_in_words(const RankInquiry& inquiry) {
  std::string text = fmt::format("rank {}: {}", inquiry.rank, in_words(inquiry.process, inquiry.pid));
  if (inquiry.left) text += "; it ended in order";
  if (!inquiry.host.empty()) text += " on " + inquiry.host;
  return text;
}

Blocked section(const Wait& wait, const ByRank& ranks) {
  Blocked blocked;
  blocked.group = group_name(*wait.group);
  blocked.sequence = wait.sequence;
  blocked.operation = wait.operation;
  blocked.waiting = wait.waiting;
  blocked.missing = wait.missing;
  for (size_t i = 0; i < std::min(wait.missing.size(), kMostStacks); ++i) {
    const RankInquiry* inquiry = find(ranks, wait.missing[i]);
    if (inquiry == nullptr) {
      blocked.process_state.push_back(fmt::format("rank {}: nothing is known of it", wait.missing[i]));
      continue;
    }
    blocked.process_state.push_back(state_in_words(*inquiry));
    if (inquiry->stack.empty()) continue;
    blocked.stacks.push_back(fmt::format("rank {}: {}", inquiry->rank, in_words(inquiry->stack, kMostFrames)));
  }
  return blocked;
}

}  // namespace

Conclusion conclude_blocked(const BlockedInquiry& inquiry, std::span<const Rule> rules) {
  Conclusion conclusion;
  ByRank ranks;
  for (const RankInquiry& rank : inquiry.ranks) ranks[rank.rank] = &rank;
  std::vector<Wait> waits;
  for (const ProcessGroup& group : inquiry.groups) {
    if (group.ranks.size() < 2) continue;
    if (std::optional<Wait> wait = wait_in(group, ranks)) waits.push_back(*std::move(wait));
  }
  bool deadlock = false;
  const Wait* root = root_of(waits, deadlock);

  // Without a collective that tells, a process that is gone or stopped still does.
  Wait alone;
  ProcessGroup nobody;
  if (root == nullptr) {
    alone.group = &nobody;
    for (const RankInquiry& rank : inquiry.ranks) {
      const bool in_order = rank.left && rank.process.exit_code.value_or(0) == 0;
      if (rank.process.dead() && in_order) continue;  // what goes on without it needs it no more
      const bool idle = rank.process.dead() || rank.process.stopped();
      (idle ? alone.missing : alone.waiting).push_back(rank.rank);
    }
    conclusion.notes.emplace_back(
        "no flight recorder tells of a collective that some ranks wait in and others did not enter");
    if (alone.missing.empty()) return conclusion;
    root = &alone;
  }
  conclusion.blocked = section(*root, ranks);
  conclusion.victims = root->waiting;

  Diagnosis diagnosis;
  diagnosis.cause = cause_of(*root, deadlock, ranks);
  diagnosis.ranks = root->missing;
  diagnosis.title = diagnosis.cause;
  diagnosis.summary = fmt::format("{} did not enter the collective.", rank_list(root->missing));
  if (const Rule* rule = rule_of(diagnosis.cause, rules)) {
    diagnosis.title = rule->title;
    diagnosis.action = rule->action;
    diagnosis.summary = rule->say;
    fill_placeholder(diagnosis.summary, "{ranks}", rank_list(root->missing));
  }
  if (root->mismatch) diagnosis.summary += fmt::format(" In group {}, {}.", group_name(*root->group), root->differs);
  if (root->missing.size() == 1) diagnosis.component = fmt::format("rank {}", root->missing.front());
  bool answered = false;
  for (const int32_t rank : root->missing) {
    const RankInquiry* of = find(ranks, rank);
    if (of == nullptr) continue;
    answered = answered || of->recorder_known || of->process.dead() || of->process.stopped();
    if (!diagnosis.function && !of->process.dead()) diagnosis.function = function_of(*of);
    const RecorderGroup* seen = find(of, root->group->name);
    if (seen != nullptr && !root->mismatch) {
      diagnosis.evidence.push_back(
          {fmt::format("last collective that rank {} entered in group {}", rank, group_name(*root->group)),
           static_cast<double>(seen->enqueued),
           "",
           static_cast<double>(root->sequence),
           {},
           {rank}});
    }
  }
  if (diagnosis.function) {
    diagnosis.summary += fmt::format(" It stands in {}.", in_words(*diagnosis.function));
  }
  diagnosis.evidence.push_back({"time without a step", inquiry.silent_s, "s", {}, {}, {}});
  // Where it is half of the job or more that nothing is known of, its ranks are elsewhere rather than gone.
  const bool elsewhere = root->guessed && root->missing.size() >= inquiry.ranks.size();
  diagnosis.confidence = answered ? 0.95 : elsewhere ? 0.4 : 0.7;
  diagnosis.confidence_why.emplace_back(
      answered    ? "the flight recorders of both sides, or the process's state, tell"
      : elsewhere ? "nothing is known here of these ranks: one of them, or several, did not enter it"
                  : "the missing ranks' flight recorders gave no answer");
  const double world = std::max<double>(static_cast<double>(inquiry.ranks.size()), inquiry.world_size);
  diagnosis.lost_ms_per_step = inquiry.mean_step_s * 1e3;
  diagnosis.marginal_ms_per_step = diagnosis.lost_ms_per_step;
  diagnosis.lost_gpu_seconds_per_hour = 3600 * world;
  (elsewhere ? conclusion.hints : conclusion.diagnoses).push_back(std::move(diagnosis));
  return conclusion;
}

}  // namespace eroica
