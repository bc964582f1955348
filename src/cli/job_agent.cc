#include "cli/job_agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <utility>

#include "base/clocks.h"
#include "cli/signal_set.h"

namespace eroica {
namespace {

constexpr time_t kScanEveryS = 2;
constexpr int64_t kMostIdleNs = 60'000'000'000;
constexpr size_t kMostJobs = 256;

}  // namespace

/// Where what is kept of a job goes; empty: nowhere.
std::string JobAgent::keep_of(const std::string& job) const {
  const std::string& keep = options_.watch.report.keep;
  return keep.empty() ? "" : fmt::format("{}/{}", keep, job);
}

void JobAgent::take(const FoundFolder& found) {
  const auto refuse = [&](const std::string& why) {
    if (refused_.insert(found.path).second) say_of(found.note.job, why);
  };
  if (jobs_.size() >= kMostJobs) return refuse(fmt::format("is not watched: there are {} jobs already", kMostJobs));
  Result<JobFolder> folder = JobFolder::adopt(found.path);
  if (!folder) return refuse(folder.error().message);
  WatchedJobOptions watch = options_.watch;
  watch.report.turn = &turn_;
  watch.report.keep = keep_of(found.note.job);
  Result<std::unique_ptr<WatchedJob>> job = WatchedJob::make(std::move(*folder), std::move(watch));
  if (!job) return refuse(job.error().message);
  (*job)->start();
  say_of(found.note.job, fmt::format("is watched, in {}", found.path));
  refused_.erase(found.path);
  jobs_[found.path] = std::move(*job);
}

void JobAgent::let_go(const std::string& path) {
  WatchedJob& job = *jobs_.at(path);
  job.stop();
  const std::string name = job.folder().note().job;
  const WatchSummary summary = job.summary();
  say_of(name, fmt::format("has ended after step {}; {} windows, {} diagnoses", summary.last_step, summary.windows,
                           job.diagnoses()));
  keep_records(job);
  jobs_.erase(path);
}

void JobAgent::keep_records(const WatchedJob& job) const {
  const std::string& name = job.folder().note().job;
  if (const Status kept = job.keep_records(keep_of(name)); !kept) say_of(name, kept.error().message);
}

void JobAgent::scan() {
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    const std::string path = entry->first;
    if ((entry++)->second->status().ranks > 0) mark_used(path);
    if (!nobody_comes_back(path)) continue;
    let_go(path);
    remove_job_folder(path);
  }
  remove_left_folders(options_.base);
  for (const FoundFolder& found : find_job_folders({options_.base}, geteuid())) {
    if (found.waits_for_agent && !jobs_.contains(found.path)) take(found);
  }
}

void JobAgent::run() {
  const sigset_t signals = signal_set({SIGTERM, SIGINT, SIGHUP});
  if (options_.server) {
    options_.watch.link = &link_.emplace(*options_.server);
    link_->start();
  }
  int64_t busy_ns = monotonic_ns();
  while (true) {
    scan();
    if (!jobs_.empty()) busy_ns = monotonic_ns();
    if (options_.leaves_when_idle && monotonic_ns() - busy_ns > kMostIdleNs) return;
    const timespec wait{kScanEveryS, 0};
    if (sigtimedwait(&signals, nullptr, &wait) > 0) break;
  }
  while (!jobs_.empty()) {  // their folders stay for the next agent
    const auto entry = jobs_.begin();
    entry->second->stop();
    keep_records(*entry->second);
    jobs_.erase(entry);
  }
  if (link_) link_->stop();
}

}  // namespace eroica
