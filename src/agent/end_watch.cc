#include "agent/end_watch.h"

#include <algorithm>
#include <utility>

#include "sample/fields.h"
#include "sample/system_files.h"

namespace eroica {
namespace {

constexpr int64_t kOthersMayFollowNs = 5'000'000'000;
constexpr int64_t kLongBeforeNs = 10'000'000'000;
constexpr size_t kSecondsBefore = 10;
constexpr int kStatusBits = 8;  // that wait(2) puts an exit status above

uint64_t oom_kills() { return number_after(SystemFiles().read("/proc/vmstat"), "oom_kill").value_or(0); }

}  // namespace

void EndWatch::joined(const LiveRank& rank) {
  RankExit& end = living_[rank.pid];
  end.rank = rank.hello.rank;
  end.host = rank.hello.host;
  end.pid = rank.pid;
  processes_.add(rank.pid);
}

RankExit* EndWatch::note(pid_t pid, int64_t now_unix_ns) {
  changed_ = true;
  if (const auto noted = std::ranges::find(ends_, pid, &RankExit::pid); noted != ends_.end()) return &*noted;
  const auto living = living_.find(pid);
  if (living == living_.end()) return nullptr;
  RankExit end = std::move(living->second);
  living_.erase(living);
  end.unix_ns = now_unix_ns;
  ends_.push_back(std::move(end));
  return &ends_.back();
}

void EndWatch::said_bye(const LiveRank& rank, const ByeMessage& bye, int64_t now_unix_ns) {
  RankExit* end = note(rank.pid, now_unix_ns);
  if (end == nullptr) return;
  end->said_bye = true;
  end->last_step = rank.last_step;
  end->exception = bye.exception;
  end->file = bye.file;
  end->line = bye.line;
  if (bye.status && !end->wait_status) end->wait_status = *bye.status << kStatusBits;
}

void EndWatch::gone(const LiveRank& rank, const ProcessState& state, int64_t now_unix_ns) {
  RankExit* end = note(rank.pid, now_unix_ns);
  if (end == nullptr) return;
  end->last_step = rank.last_step;
  // Of a process with many threads the first may be gone while others still are.
  if (processes_.listens_to(rank.pid)) return;
  end->has_ended = true;
  if (state.start_ticks == rank.start_ticks && state.exit_code) end->wait_status = state.exit_code;
}

std::vector<EndedProcess> EndWatch::take(const RankTable& ranks, int64_t now_unix_ns) {
  std::vector<EndedProcess> ended = processes_.take();
  for (const EndedProcess& process : ended) {
    RankExit* end = note(process.pid, now_unix_ns);
    if (end == nullptr) continue;
    end->has_ended = true;
    if (process.wait_status) end->wait_status = process.wait_status;
    const auto rank = ranks.all().find(end->rank);
    if (rank != ranks.all().end() && rank->second.pid == process.pid) end->last_step = rank->second.last_step;
  }
  return ended;
}

void EndWatch::each_second() {
  oom_kills_.push_back(oom_kills());
  if (oom_kills_.size() > kSecondsBefore) oom_kills_.pop_front();
}

std::optional<RankExits> EndWatch::to_tell(const RankTable& ranks, bool at_once, int64_t now_unix_ns) {
  if (told_ || !changed_) return std::nullopt;
  const auto bad = std::ranges::find_if(ends_, &RankExit::accuses);
  if (bad == ends_.end()) return std::nullopt;
  const bool all = living_.empty() && std::ranges::all_of(ends_, &RankExit::has_ended);
  if (!all && !at_once && now_unix_ns - bad->unix_ns < kOthersMayFollowNs) return std::nullopt;
  changed_ = false;
  RankExits result;
  result.world_size = ranks.world_size();
  for (const RankExit& end : ends_) {
    if (!end.accuses() && bad->unix_ns - end.unix_ns > kLongBeforeNs) {
      result.ended_before.push_back(end.rank);
    } else {
      result.ends.push_back(end);
    }
  }
  for (const auto& [pid, rank] : living_) result.going_on.push_back(rank.rank);
  std::ranges::sort(result.going_on);
  told_ = !first_to_end(result).empty();
  if (!told_) return std::nullopt;
  const uint64_t before = oom_kills_.empty() ? 0 : oom_kills_.front();
  if (!oom_kills_.empty()) result.oom_kills = oom_kills() - before;
  return result;
}

void EndWatch::begin_again() {
  ends_.clear();
  told_ = false;
}

}  // namespace eroica
