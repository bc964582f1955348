#include "sample/process_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "sample/fields.h"

namespace eroica {
namespace {

constexpr size_t kMostProcesses = 1 << 16;
constexpr int kMostParents = 64;
// A program that loads data bears the rank's name, or the one that newer torch gives it.
constexpr std::string_view kWorkerName = "pt_data_worker";

}  // namespace

void ProcessTree::look() {
  for (auto& [pid, process] : processes_) process.seen = false;
  std::string text;
  for (const std::string& name : files_->list("/proc")) {
    const std::optional<pid_t> pid = whole_number<pid_t>(name);
    if (!pid || !files_->read("/proc/" + name + "/stat", text)) continue;
    std::optional<TaskStat> stat = parse_task_stat(text);
    if (!stat) continue;
    const uint64_t ticks = stat->user_ticks + stat->system_ticks;
    auto [found, is_new] = processes_.try_emplace(*pid);
    Process& process = found->second;
    if (!is_new && process.stat.start_ticks != stat->start_ticks) process = {};  // another one of the same number
    if (is_new && !looked_) process.start_cpu_ticks = process.cpu_ticks = ticks;
    const uint64_t before = process.cpu_ticks;
    process.stat = *std::move(stat);
    process.cpu_ticks = std::max(before, ticks);
    process.seen = true;
    if (processes_.size() >= kMostProcesses) break;
  }
  std::erase_if(processes_, [this](const auto& entry) {
    const Process& process = entry.second;
    if (!process.seen && process.of_job) ended_ticks_ += process.cpu_ticks - process.start_cpu_ticks;
    return !process.seen;
  });
  tell_apart();
  looked_ = true;
}

void ProcessTree::tell_apart() {
  // What started several ranks, a launcher, is of the job with all that it started.
  std::set<pid_t> roots = {job_->self};
  std::map<pid_t, int32_t> ranks;
  for (const SampledRank& rank : job_->ranks) {
    roots.insert(rank.pid);
    ranks.emplace(rank.pid, rank.rank);
    const auto found = processes_.find(rank.pid);
    if (found != processes_.end() && found->second.stat.parent > 1) roots.insert(found->second.stat.parent);
  }
  workers_.clear();
  uint64_t ticks = 0;
  for (auto& [pid, process] : processes_) {
    pid_t at = pid;
    process.of_job = false;
    for (int i = 0; i < kMostParents && at > 1 && !process.of_job; ++i) {
      process.of_job = roots.contains(at);
      const auto found = processes_.find(at);
      at = found == processes_.end() ? 0 : found->second.stat.parent;
    }
    if (!process.of_job) continue;
    ticks += process.cpu_ticks - process.start_cpu_ticks;
    const auto rank = ranks.find(process.stat.parent);
    if (rank == ranks.end() || ranks.contains(pid)) continue;
    if (process.stat.name != kWorkerName && process.stat.name != processes_.at(rank->first).stat.name) continue;
    workers_.push_back({rank->second, pid});
  }
  job_ticks_ = ended_ticks_ + ticks;
}

const ProcessTree::Process* ProcessTree::find(pid_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : &found->second;
}

bool ProcessTree::is_foreign(pid_t pid) const {
  for (int i = 0; i < kMostParents && pid > 0; ++i) {
    if (const Process* known = find(pid)) return !known->of_job;
    const std::optional<TaskStat> stat = parse_task_stat(files_->read(fmt::format("/proc/{}/stat", pid)));
    if (!stat) return false;
    pid = stat->parent;
  }
  return true;
}

std::vector<Stranger> ProcessTree::strangers() const {
  const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::vector<Stranger> strangers;
  for (const auto& [pid, process] : processes_) {
    if (process.of_job || process.cpu_ticks == process.start_cpu_ticks) continue;
    strangers.push_back(
        {pid, process.stat.name, static_cast<double>(process.cpu_ticks - process.start_cpu_ticks) / ticks_per_s});
  }
  std::ranges::stable_sort(strangers, std::ranges::greater{}, &Stranger::cpu_s);
  return strangers;
}

}  // namespace eroica
