#include "agent/window_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "agent/this_thread.h"
#include "base/clocks.h"
#include "sample/host_sampler.h"
#include "sample/perf_switches.h"

namespace eroica {
namespace {

// So that what is booked late, or read seldom, reaches over the window's edges.
constexpr int64_t kMarginNs = 300'000'000;
constexpr int kNice = 5;
constexpr size_t kMostForeign = 3;
constexpr double kLeastForeignCores = 0.2;
constexpr double kMuchCost = 0.03;
constexpr double kLeastWait = 0.03;    // of the window
constexpr size_t kMostNeighbours = 2;  // of a rank
constexpr size_t kMostNotes = 16;

std::string in_words(const std::string& name, pid_t pid, const std::string& cgroup) {
  return fmt::format("{} (process {}{})", name, pid, cgroup.size() > 1 ? " in " + cgroup : "");
}

/// Of each rank those that it waited for longest.
std::vector<SourceFindings::Neighbour> worst(std::vector<SourceFindings::Neighbour> all, double seconds) {
  std::erase_if(all, [&](const auto& one) { return one.waited_s <= kLeastWait * seconds; });
  std::ranges::stable_sort(all, std::ranges::greater{}, &SourceFindings::Neighbour::waited_s);
  std::map<int32_t, size_t> of_rank;
  std::erase_if(all, [&](const auto& one) { return ++of_rank[one.rank] > kMostNeighbours; });
  all.resize(std::min(all.size(), kMostNotes));
  return all;
}

std::vector<std::string> notes_of(const HostSampler& sampler, const SourceFindings& findings) {
  std::vector<std::string> notes = findings.notes;
  for (const SourceFindings::Neighbour& one : worst(findings.neighbours, sampler.seconds())) {
    notes.push_back(
        fmt::format("the training thread of rank {} waited for a CPU {:.0f} % of the window while {} had it", one.rank,
                    100 * one.waited_s / sampler.seconds(), in_words(one.name, one.pid, one.cgroup)));
  }
  for (const HostSampler::ForeignUse& use : sampler.foreign(kMostForeign, kLeastForeignCores)) {
    notes.push_back(fmt::format("outside of the job, {} used {:.2f} cores during the window",
                                in_words(use.name, use.pid, use.cgroup), use.cores));
  }
  if (sampler.lost() > 0) notes.push_back(fmt::format("{} samples were left out: too many", sampler.lost()));
  if (sampler.cost_share() > kMuchCost) {
    notes.push_back(fmt::format("reading the host's counters took {:.1f} % of a core", sampler.cost_share() * 100));
  }
  return notes;
}

}  // namespace

WindowSampler::WindowSampler(SampledJob job, WindowPlan plan, std::string path, GpuFeeds gpus)
    : job_(std::move(job)), plan_(std::move(plan)), path_(std::move(path)), gpus_(std::move(gpus)), thread_([this] {
        run();
      }) {}

void WindowSampler::run() {
  give_way(kNice);
  for (const std::shared_ptr<GpuFeed>& feed : gpus_.counters) feed->start();  // which may take a while
  if (gpus_.fine != nullptr) gpus_.fine->start();
  if (!wait_until(plan_.start_unix_ns - kMarginNs)) return;
  std::vector<pid_t> threads;
  for (const SampledRank& rank : job_.ranks) threads.push_back(rank.pid);
  HostSampler sampler(SystemFiles(), job_, thread_cpu_ns, gpus_, perf_switches(threads));
  while (true) {
    const int64_t next_ns = sampler.sample(now_ns());
    if (!wait_until(next_ns) || now_ns() > plan_.end_unix_ns + kMarginNs) break;
  }
  sampler.finish(now_ns());
  std::ofstream file(path_, std::ios::binary | std::ios::trunc);
  file << samples_json(sampler.samples());
  outcome_.written = static_cast<bool>(file.flush());
  outcome_.cores = sampler.cost_share();
  outcome_.findings = sampler.findings();
  outcome_.notes = notes_of(sampler, outcome_.findings);
  if (!outcome_.written) outcome_.notes.push_back(path_ + " cannot be written: evidence from the host is missing");
}

WindowSamples WindowSampler::finish() {
  thread_.end();
  return std::move(outcome_);
}

}  // namespace eroica
