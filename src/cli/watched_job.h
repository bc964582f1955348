#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "agent/control_socket.h"
#include "agent/job_folder.h"
#include "agent/watcher.h"
#include "cli/live_report.h"
#include "cli/service_link.h"

namespace eroica {

struct WatchedJobOptions {
  std::string watcher;  ///< "run" or "agent"
  Policy policy;
  bool watch_only = false;
  std::optional<double> window_s;
  LiveReportOptions report;     ///< job and results are filled in
  ServiceLink* link = nullptr;  ///< is told of the job, and must outlive it; nullptr: nobody is
};

/// All of one live job on this host: its folder, who watches it, who tells of it, and the socket at which people ask.
class WatchedJob {
 public:
  /// Binds the sockets; no thread runs yet. Error kWrite.
  static Result<std::unique_ptr<WatchedJob>> make(JobFolder folder, WatchedJobOptions options);
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;
  ~WatchedJob() { stop(); }

  void start();
  /// Returns when all that was heard of the job is told.
  void stop();
  [[nodiscard]] const JobFolder& folder() const { return folder_; }
  [[nodiscard]] JobStatus status() const;
  /// After stop().
  [[nodiscard]] WatchSummary summary() const { return watcher_->summary(); }
  /// Writes the step records into a folder, unless there are none or it has no name. Error kWrite.
  Status keep_records(const std::string& folder) const;
  [[nodiscard]] size_t diagnoses() const { return report_->diagnoses(); }

 private:
  WatchedJob(JobFolder folder, WatchedJobOptions options);
  std::string answer(const ControlRequest& request);

  JobFolder folder_;
  ServiceLink* link_;
  bool is_told_ = false;  // the link was told that it is watched
  std::string name_;      // of the kind of watcher
  KeepPolicy keep_policy_;
  std::unique_ptr<LiveReport> report_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<ControlServer> control_;
};

}  // namespace eroica
