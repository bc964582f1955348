#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probe_message.h"

namespace eroica {

/// One rank as its probe told of it.
struct LiveRank {
  HelloMessage hello;
  pid_t pid = -1;  ///< as the kernel says who sent
  uint64_t start_ticks = 0;
  std::string name;  ///< "PID-RANDOM", of its sockets
  int64_t last_step = 0;
  uint64_t dropped = 0;  ///< datagrams and step records that were lost
  uint32_t optimizer_index = 0;
  bool stepped = false;
  bool left = false;  ///< it said BYE
  bool gone = false;  ///< its process has ended
  std::vector<ProcessGroup> groups;
  int64_t group_set = -1;

  [[nodiscard]] bool takes_part() const { return !left && !gone; }
};

/// "PID-RANDOM" of a socket `FOLDER/FRONT-PID-RANDOM`, or empty.
std::string socket_owner(std::string_view path, std::string_view front);

/// The ranks of one job, each told by the process that it is.
class RankTable {
 public:
  /// Whether a process that says so is taken for a rank: not a launcher, nor one that claims what another living
  /// process is.
  [[nodiscard]] bool accepts(const HelloMessage& message, pid_t pid, bool holder_is_dead) const;
  /// A process says who it is. nullptr: it is not accepted.
  LiveRank* hello(HelloMessage message, pid_t pid, const std::string& name, bool holder_is_dead, uint64_t start_ticks);
  void groups(LiveRank& rank, GroupsMessage message);

  LiveRank* by_pid(pid_t pid);
  LiveRank* by_rank(int32_t rank);
  [[nodiscard]] std::map<int32_t, LiveRank>& all() { return ranks_; }
  [[nodiscard]] const std::map<int32_t, LiveRank>& all() const { return ranks_; }
  /// Those that take part.
  [[nodiscard]] std::vector<int32_t> present() const;
  [[nodiscard]] int32_t world_size() const;
  [[nodiscard]] size_t hosts() const;
  /// The latest of any of them, 0 = none.
  [[nodiscard]] int64_t last_step() const;
  /// Every process group that a rank told of, each once.
  [[nodiscard]] std::vector<ProcessGroup> process_groups() const;

 private:
  std::map<int32_t, LiveRank> ranks_;
  std::map<pid_t, int32_t> pids_;
};

}  // namespace eroica
