#include "agent/rank_table.h"

#include <algorithm>
#include <set>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kMostRanks = 4096;  // of one host
constexpr size_t kMostGroups = 100'000;

}  // namespace

std::string socket_owner(std::string_view path, std::string_view front) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return "";
  std::string_view name = path.substr(slash + 1);
  if (!name.starts_with(front)) return "";
  name.remove_prefix(front.size());
  const bool plain = name.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
  return plain && !name.empty() && name.size() <= 40 ? std::string(name) : std::string();
}

bool RankTable::accepts(const HelloMessage& message, pid_t pid, bool holder_is_dead) const {
  if (message.rank < 0 || message.launcher) return false;
  const auto known = ranks_.find(message.rank);
  if (known == ranks_.end()) return ranks_.size() < kMostRanks;
  return known->second.pid == pid || !known->second.takes_part() || holder_is_dead;
}

LiveRank* RankTable::hello(HelloMessage message, pid_t pid, const std::string& name, bool holder_is_dead,
                           uint64_t start_ticks) {
  if (!accepts(message, pid, holder_is_dead)) return nullptr;
  const int32_t number = message.rank;
  LiveRank* known = by_rank(number);
  if (const auto before = pids_.find(pid); before != pids_.end() && before->second != number) {
    ranks_.erase(before->second);  // the process became another rank
    pids_.erase(before);
  }
  if (known != nullptr && known->pid == pid) {
    known->hello = std::move(message);
    known->name = name;
    return known;
  }
  if (known != nullptr) pids_.erase(known->pid);
  LiveRank rank;
  rank.hello = std::move(message);
  rank.pid = pid;
  rank.name = name;
  rank.start_ticks = start_ticks;
  pids_[pid] = number;
  return &(ranks_[number] = std::move(rank));
}

void RankTable::groups(LiveRank& rank, GroupsMessage message) {
  if (message.set < rank.group_set) return;
  if (message.set > rank.group_set) rank.groups.clear();
  rank.group_set = message.set;
  for (ProcessGroup& group : message.groups) {
    const auto known = std::ranges::find(rank.groups, group.name, &ProcessGroup::name);
    if (known == rank.groups.end()) {
      if (rank.groups.size() < kMostGroups) {
        rank.groups.push_back(std::move(group));
      }
    } else if (message.part > 0) {
      known->ranks.insert(known->ranks.end(), group.ranks.begin(), group.ranks.end());
    } else {  // the same set told again
      known->ranks = std::move(group.ranks);
    }
  }
}

LiveRank* RankTable::by_pid(pid_t pid) {
  const auto found = pids_.find(pid);
  return found == pids_.end() ? nullptr : by_rank(found->second);
}

LiveRank* RankTable::by_rank(int32_t rank) {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : &found->second;
}

std::vector<int32_t> RankTable::present() const {
  std::vector<int32_t> result;
  for (const auto& [number, rank] : ranks_) {
    if (rank.takes_part()) result.push_back(number);
  }
  return result;
}

int32_t RankTable::world_size() const {
  int32_t size = -1;
  for (const auto& [number, rank] : ranks_) size = std::max(size, rank.hello.world_size);
  return size;
}

size_t RankTable::hosts() const {
  std::set<std::string> names;
  for (const auto& [number, rank] : ranks_) names.insert(rank.hello.host);
  return names.size();
}

int64_t RankTable::last_step() const {
  int64_t last = 0;
  for (const auto& [number, rank] : ranks_) last = std::max(last, rank.last_step);
  return last;
}

std::vector<ProcessGroup> RankTable::process_groups() const {
  std::vector<ProcessGroup> result;
  std::set<std::string> names;
  for (const auto& [number, rank] : ranks_) {
    for (const ProcessGroup& group : rank.groups) {
      if (names.insert(group.name).second) result.push_back(group);
    }
  }
  return result;
}

}  // namespace eroica
