#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "agent/process_ends.h"
#include "agent/process_state.h"
#include "agent/rank_exits.h"
#include "agent/rank_table.h"

namespace eroica {

/// Notes how the processes of a job's ranks end, and in which order: a launcher ends the others within a moment.
class EndWatch {
 public:
  /// Is readable once a process has ended; −1: never.
  [[nodiscard]] int fd() const { return processes_.fd(); }
  void joined(const LiveRank& rank);
  void said_bye(const LiveRank& rank, const ByeMessage& bye, int64_t now_unix_ns);
  /// Whether its process's end is heard of; else somebody has to look, and call gone().
  [[nodiscard]] bool hears(const LiveRank& rank) const { return processes_.listens_to(rank.pid); }
  /// Its process is no longer there, or only what nobody has waited for yet.
  void gone(const LiveRank& rank, const ProcessState& state, int64_t now_unix_ns);
  /// The processes that have ended since.
  std::vector<EndedProcess> take(const RankTable& ranks, int64_t now_unix_ns);
  void each_second();

  /// What is to be told, once: when everybody has ended, some seconds after the first end that may accuse somebody, or
  /// `at_once`. Ends that accuse nobody and are long past by then are told of as such.
  std::optional<RankExits> to_tell(const RankTable& ranks, bool at_once, int64_t now_unix_ns);
  /// Forgets all ends: ranks begin again.
  void begin_again();

 private:
  RankExit* note(pid_t pid, int64_t now_unix_ns);

  ProcessEnds processes_;
  std::map<pid_t, RankExit> living_;
  std::vector<RankExit> ends_;
  bool told_ = false;
  bool changed_ = false;            ///< since it was last considered what is to be told
  std::deque<uint64_t> oom_kills_;  ///< counted in the last seconds
};

}  // namespace eroica
