#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "cli/watched_job.h"

namespace eroica {

struct JobAgentOptions {
  std::string base;  ///< where folders of jobs lie
  WatchedJobOptions watch;
  std::optional<ServiceLinkOptions> server;  ///< is told of all jobs
  bool leaves_when_idle = false;             ///< after a minute without a job
};

/// Watches every job of this process's user whose folder `eroica env` made; windows are analysed one at a time.
class JobAgent {
 public:
  explicit JobAgent(JobAgentOptions options) : options_(std::move(options)) {}
  /// Until SIGTERM, SIGINT or SIGHUP, which have to be blocked, or for want of jobs.
  void run();

 private:
  [[nodiscard]] std::string keep_of(const std::string& job) const;
  void scan();
  void take(const FoundFolder& found);
  void let_go(const std::string& path);
  void keep_records(const WatchedJob& job) const;

  JobAgentOptions options_;
  std::optional<ServiceLink> link_;
  std::mutex turn_;
  std::map<std::string, std::unique_ptr<WatchedJob>> jobs_;  // by the paths of their folders
  std::set<std::string> refused_;                            // told of already
};

}  // namespace eroica
