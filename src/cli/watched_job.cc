#include "cli/watched_job.h"

#include <utility>

#include "base/clocks.h"
#include "cli/kept_records.h"

namespace eroica {

WatchedJob::WatchedJob(JobFolder folder, WatchedJobOptions options)
    : folder_(std::move(folder)), name_(std::move(options.watcher)), keep_policy_(options.policy.keep) {
  options.report.job = folder_.note().job;
  options.report.keep_policy = options.policy.keep;
  options.report.results = folder_.traces() + "/results";
  report_ = std::make_unique<LiveReport>(std::move(options.report));
}

Result<std::unique_ptr<WatchedJob>> WatchedJob::make(JobFolder folder, WatchedJobOptions options) {
  WatchOptions watch;
  watch.job = folder.note().job;
  watch.policy = options.policy;
  watch.watch_only = options.watch_only || !folder.note().profiling;
  watch.window_s = options.window_s;
  std::unique_ptr<WatchedJob> job(new WatchedJob(std::move(folder), std::move(options)));
  Result<std::unique_ptr<Watcher>> watcher = Watcher::make(
      job->folder_, watch, [report = job->report_.get()](WatchNews news) { report->hear(std::move(news)); });
  if (!watcher) return watcher.error();
  job->watcher_ = std::move(*watcher);
  Result<std::unique_ptr<ControlServer>> control =
      ControlServer::make(job->folder_.control_socket(),
                          [self = job.get()](const ControlRequest& request) { return self->answer(request); });
  if (!control) return control.error();
  job->control_ = std::move(*control);
  return job;
}

void WatchedJob::start() {
  report_->start();
  watcher_->start();
  control_->start();
}

void WatchedJob::stop() {
  if (control_) control_->stop();
  if (watcher_) watcher_->stop();
  report_->finish();
}

Status WatchedJob::keep_records(const std::string& folder) const {
  if (folder.empty() || summary().records == 0) return ok_status();
  const Result<std::string> kept = eroica::keep_records(folder, watcher_->records(), keep_policy_, unix_ns());
  return kept ? ok_status() : Status(kept.error());
}

JobStatus WatchedJob::status() const {
  JobStatus status = watcher_->status();
  status.watcher = name_;
  report_->complete(status);
  return status;
}

std::string WatchedJob::answer(const ControlRequest& request) {
  if (request.kind == ControlRequest::Kind::kStatus) return encode_answer(status());
  return encode_answer(watcher_->trigger(request));
}

}  // namespace eroica
