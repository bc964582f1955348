#include "sample/host_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sample/cgroup_text.h"

namespace eroica {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr double kLeastS = 0.5;             // CPU time is booked in ticks: over less it says nothing
constexpr int64_t kSwitchesNs = 100 * kMs;  // a ring holds 0.2 s of 20,000 switches a second

}  // namespace

std::vector<PlannedSource> host_sources(const SystemFiles& files, const SampledJob& job, ProcessTree& tree,
                                        const GpuFeeds& gpus, const std::shared_ptr<SwitchFeed>& switches,
                                        GpuPlaces& places, std::vector<std::string>& missing) {
  if (!files.exists("/proc/self/schedstat")) missing.emplace_back("waits for CPUs (no schedstat in this kernel)");
  if (!files.exists("/proc/pressure/cpu")) missing.emplace_back("pressure (no /proc/pressure)");
  if (!files.exists("/sys/devices/system/cpu/cpu0/cpufreq")) missing.emplace_back("clocks of CPUs (no cpufreq)");
  std::vector<PlannedSource> all;
  const auto add = [&](std::unique_ptr<SampleSource> source, int64_t period_ms, double share) {
    all.push_back({std::move(source), period_ms * kMs, share});
  };
  add(training_thread_source(files, job, tree, switches, places), 10, 0.005);
  if (switches != nullptr) all.back().longest_ns = kSwitchesNs;
  for (const std::shared_ptr<GpuFeed>& feed : gpus.counters) {
    add(gpu_source(files, job, tree, feed, places), 10, 0.03);
  }
  if (gpus.fine != nullptr) add(fine_gpu_source(gpus.fine, places), 20, 1);
  add(nic_source(files, job), 20, 0.002);
  add(worker_source(files, tree), 20, 0.001);
  add(rank_process_source(files, job), 50, 0.001);
  add(cgroup_source(files, job), 50, 0.0005);
  add(tcp_source(files, job, missing), 50, 0.001);
  add(cpu_source(files, job.machine), 100, 0.0003);
  add(pressure_source(files, job.machine), 100, 0.0003);
  add(disk_source(files, job.machine), 100, 0.0003);
  add(foreign_source(files, job.machine, tree), 500, 0.001);
  add(affinity_source(files, job), 500, 0.0003);
  add(frequency_source(files, job.machine), 500, 0.0003);
  add(remote_storage_source(files, job), 500, 0.0003);
  return all;
}

HostSampler::HostSampler(SystemFiles files, SampledJob job, std::function<int64_t()> cost_ns, const GpuFeeds& gpus,
                         const std::shared_ptr<SwitchFeed>& switches)
    : files_(std::move(files)), job_(std::move(job)), cost_ns_(std::move(cost_ns)), tree_(files_, job_) {
  for (PlannedSource& plan : host_sources(files_, job_, tree_, gpus, switches, places_, missing_)) {
    sources_.push_back({std::move(plan), 0, 0, 0});
  }
}

SourceFindings HostSampler::findings() const {
  SourceFindings findings;
  findings.missing = missing_;
  for (const Due& due : sources_) due.plan.source->add_findings(findings);
  return findings;
}

void HostSampler::read(Due& due, int64_t unix_ns, bool last) {
  const int64_t before_ns = cost_ns_();
  log_.at(unix_ns);
  if (last) {
    due.plan.source->finish(log_);
  } else {
    due.plan.source->sample(log_);
  }
  const int64_t elsewhere_ns = due.plan.source->spent_elsewhere_ns();
  const int64_t cost_ns =
      std::max<int64_t>(0, cost_ns_() - before_ns) + elsewhere_ns - std::exchange(due.elsewhere_ns, elsewhere_ns);
  spent_ns_ += cost_ns;
  due.cost_ns = due.next_ns == 0 ? cost_ns : (3 * due.cost_ns + cost_ns) / 4;
  const auto bearable_ns = static_cast<int64_t>(static_cast<double>(due.cost_ns) / due.plan.share);
  due.next_ns = unix_ns + std::clamp(bearable_ns, due.plan.period_ns, due.plan.longest_ns);
}

int64_t HostSampler::sample(int64_t unix_ns) {
  if (began_ns_ == 0) began_ns_ = unix_ns;
  last_ns_ = unix_ns;
  int64_t next_ns = INT64_MAX;
  for (Due& due : sources_) {
    if (due.next_ns <= unix_ns) read(due, unix_ns, false);
    next_ns = std::min(next_ns, due.next_ns);
  }
  return next_ns;
}

void HostSampler::finish(int64_t unix_ns) {
  last_ns_ = unix_ns;
  for (Due& due : sources_) read(due, unix_ns, true);
}

double HostSampler::cost_share() const {
  // What is read once, at the start, says nothing of a share of the time.
  if (seconds() < kLeastS) return 0;
  return static_cast<double>(spent_ns_) / static_cast<double>(last_ns_ - began_ns_);
}

std::vector<HostSampler::ForeignUse> HostSampler::foreign(size_t most, double least_cores) const {
  std::vector<ForeignUse> uses;
  const double window_s = seconds();
  if (window_s < kLeastS) return uses;
  for (const Stranger& stranger : tree_.strangers()) {
    if (uses.size() >= most || stranger.cpu_s / window_s < least_cores) break;
    std::string cgroup = longest_cgroup(files_.read(fmt::format("/proc/{}/cgroup", stranger.pid)));
    uses.push_back({stranger.name, std::move(cgroup), stranger.pid, stranger.cpu_s / window_s});
  }
  return uses;
}

}  // namespace eroica
