#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "sample/cgroup_text.h"
#include "sample/fields.h"
#include "sample/numa_nodes.h"
#include "sample/one_thread.h"
#include "sample/sample_source.h"
#include "sample/thread_timeline.h"

namespace eroica {
namespace {

constexpr double kPerNs = 1e-9;
constexpr int64_t kBinNs = 1'000'000;
constexpr size_t kMostForeign = 256;  // whose names are read
constexpr std::string_view kRun = "cpu.main_thread_run";
constexpr std::string_view kWait = "cpu.main_thread_runnable_wait";

/// The threads that drive the ranks: by their switches where these are told, else by what the scheduler books.
class TrainingThreads : public SampleSource {
 public:
  TrainingThreads(const SystemFiles& files, const SampledJob& job, const ProcessTree& tree,
                  std::shared_ptr<SwitchFeed> switches, const GpuPlaces& places)
      : files_(files), tree_(tree), switches_(std::move(switches)), places_(places), nodes_(files) {
    for (const SampledRank& rank : job.ranks) {
      threads_.push_back({rank.rank, rank.pid, OneThread(files, rank.pid, fmt::format("rank {}", rank.rank)), {}});
    }
  }

  void sample(SampleLog& log) override { read(log, false); }
  void finish(SampleLog& log) override { read(log, true); }

  void add_findings(SourceFindings& findings) const override {
    if (switches_ == nullptr) return;
    if (!switches_->problem().empty()) {
      const bool any = std::ranges::any_of(threads_, [](const Thread& thread) { return thread.timeline.has_value(); });
      findings.missing.push_back(fmt::format(
          "{} ({})",
          any ? "who had the CPU that a rank waited for" : "exact switches of threads, only their sums every 10 ms",
          switches_->problem()));
    }
    if (switches_->lost() > 0) {
      findings.missing.push_back(
          fmt::format("{} switches of threads: they came faster than they were read", switches_->lost()));
    }
    for (const Thread& thread : threads_) {
      if (!thread.timeline) continue;
      for (const auto& [pid, ns] : thread.timeline->waited_for()) {
        const auto other = others_.find(pid);
        if (other == others_.end() || !other->second.is_foreign) continue;
        findings.neighbours.push_back(
            {thread.rank, pid, other->second.name, other->second.cgroup, static_cast<double>(ns) * kPerNs});
      }
    }
  }

 private:
  struct Thread {
    int32_t rank;
    pid_t pid;
    OneThread files;
    std::optional<ThreadTimeline> timeline;  // absent: its switches are not told
  };

  struct Other {
    bool is_foreign = false;
    std::string name;
    std::string cgroup;
  };

  void read(SampleLog& log, bool last) {
    const int64_t now_ns = monotonic_ns();
    if (unix_minus_monotonic_ns_ == 0) begin(log, now_ns);
    if (switches_ != nullptr) take_switches(now_ns);
    for (Thread& thread : threads_) {
      const std::optional<SchedStat> booked = thread.files.booked();
      if (thread.timeline) {
        if (booked) thread.timeline->book(now_ns, *booked);
        if (last) thread.timeline->finish(now_ns);
        tell(thread, log);
      } else if (booked) {
        log.growth(thread.files.entity(), kRun, "fraction", booked->run_ns, kPerNs);
        log.growth(thread.files.entity(), kWait, "fraction", booked->wait_ns, kPerNs);
      }
      if (const std::optional<TaskStat> stat = thread.files.stat()) {
        thread.files.tell_blocked(*stat, log);
        tell_node(thread, stat->cpu, log);
      }
    }
  }

  /// Is it on another node than its GPU?
  void tell_node(const Thread& thread, int32_t cpu, SampleLog& log) {
    const auto bus = places_.bus_of_rank.find(thread.rank);
    if (bus == places_.bus_of_rank.end() || nodes_.count() < 2) return;
    const auto [home, is_new] = home_.try_emplace(thread.rank);
    if (is_new) home->second = node_of_device(files_, bus->second);
    const std::optional<int32_t> here = nodes_.of_cpu(cpu);
    if (!home->second || !here) return;
    log.level(thread.files.entity(), "cpu.remote_numa", "fraction", *here == *home->second ? 0 : 1);
  }

  void begin(SampleLog& log, int64_t now_ns) {
    unix_minus_monotonic_ns_ = log.now_ns() - now_ns;
    // Many ranks together are told in longer steps.
    const int64_t bin_ns = std::max<int64_t>(1, static_cast<int64_t>(threads_.size()) / 2) * kBinNs;
    for (Thread& thread : threads_) {
      if (switches_ == nullptr || !switches_->tells_of(thread.pid)) continue;
      thread.timeline.emplace(now_ns, bin_ns);
      tell_shares(thread.files.entity(), {}, log);
    }
  }

  void take_switches(int64_t now_ns) {
    taken_.clear();
    const bool all = switches_->take(now_ns, taken_);
    for (Thread& thread : threads_) {
      if (!thread.timeline) continue;
      if (!all) thread.timeline->lose();
      for (const Switch& one : taken_) {
        if (one.tid == thread.pid) thread.timeline->add(one);
      }
    }
  }

  void tell(Thread& thread, SampleLog& log) {
    const int64_t now_ns = log.now_ns();
    for (const ThreadShares& shares : thread.timeline->take()) {
      log.at(std::min(now_ns, shares.end_ns + unix_minus_monotonic_ns_));
      tell_shares(thread.files.entity(), shares, log);
    }
    log.at(now_ns);
    if (!switches_->tells_others()) return;
    int64_t own_ns = 0;
    int64_t foreign_ns = 0;
    for (const auto& [pid, ns] : thread.timeline->waited_for()) {
      if (pid == thread.pid) own_ns += ns;
      if (pid != thread.pid && is_foreign(pid)) foreign_ns += ns;
    }
    const std::string& entity = thread.files.entity();
    log.growth(entity, "cpu.main_thread_wait_own", "fraction", static_cast<uint64_t>(own_ns), kPerNs);
    log.growth(entity, "cpu.main_thread_wait_foreign", "fraction", static_cast<uint64_t>(foreign_ns), kPerNs);
  }

  static void tell_shares(const std::string& entity, const ThreadShares& shares, SampleLog& log) {
    log.level(entity, kRun, "fraction", shares.run);
    log.level(entity, kWait, "fraction", shares.preempted + shares.wakeup_wait);
    log.level(entity, "cpu.main_thread_preempted", "fraction", shares.preempted);
    log.level(entity, "cpu.main_thread_wakeup_wait", "fraction", shares.wakeup_wait);
  }

  /// Looks at it when it is met, since it may end.
  bool is_foreign(pid_t pid) {
    if (const auto found = others_.find(pid); found != others_.end()) return found->second.is_foreign;
    Other& other = others_[pid];
    other.is_foreign = tree_.is_foreign(pid);
    if (!other.is_foreign || ++foreign_ > kMostForeign) return other.is_foreign;
    std::string_view name = files_.read(fmt::format("/proc/{}/comm", pid), text_) ? std::string_view(text_) : "";
    other.name = take_line(name);
    other.cgroup = longest_cgroup(files_.read(fmt::format("/proc/{}/cgroup", pid)));
    return other.is_foreign;
  }

  const SystemFiles& files_;
  const ProcessTree& tree_;
  std::shared_ptr<SwitchFeed> switches_;
  const GpuPlaces& places_;
  NumaNodes nodes_;
  std::map<int32_t, std::optional<int32_t>> home_;  // of each rank whose GPU is known: the node; absent: none
  std::vector<Thread> threads_;
  std::vector<Switch> taken_;
  int64_t unix_minus_monotonic_ns_ = 0;
  std::map<pid_t, Other> others_;  // as many as a timeline tells of
  size_t foreign_ = 0;
  std::string text_;
};

}  // namespace

std::unique_ptr<SampleSource> training_thread_source(const SystemFiles& files, const SampledJob& job,
                                                     const ProcessTree& tree, std::shared_ptr<SwitchFeed> switches,
                                                     const GpuPlaces& places) {
  return std::make_unique<TrainingThreads>(files, job, tree, std::move(switches), places);
}

}  // namespace eroica
