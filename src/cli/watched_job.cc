#include "cli/watched_job.h"

#include <utility>

#include "base/clocks.h"
#include "cli/kept_records.h"
#include "coordinator/json.h"

namespace eroica {

WatchedJob::WatchedJob(JobFolder folder, WatchedJobOptions options)
    : folder_(std::move(folder)),
      link_(options.link),
      name_(std::move(options.watcher)),
      keep_policy_(options.policy.keep) {
  options.report.job = folder_.note().job;
  if (link_ != nullptr) {
    options.report.append = [link = link_, job = options.report.job,
                             then = std::move(options.report.append)](const std::string& line) -> Status {
      if (Result<DocumentTold> document = parse_document(line)) link->tell(job, unix_ns(), std::move(*document));
      return then ? then(line) : ok_status();
    };
  }
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
      job->folder_, watch, [report = job->report_.get(), link = job->link_, name = watch.job](WatchNews news) {
        if (link != nullptr) link->hear(name, news);
        report->hear(std::move(news));
      });
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
  if (link_ == nullptr) return;
  is_told_ = true;
  link_->attach(
      folder_.note().job, [this] { return status(); },
      [this](const ControlRequest& request) { return watcher_->trigger(request); });
}

void WatchedJob::stop() {
  const bool is_told = std::exchange(is_told_, false);
  if (is_told) link_->detach(folder_.note().job);
  if (control_) control_->stop();
  if (watcher_) watcher_->stop();
  report_->finish();
  if (!is_told) return;
  JobStatus last = status();
  if (name_ == "run") last.state = JobState::kEnded;  // the command has ended
  link_->tell(folder_.note().job, unix_ns(), StatusTold{std::move(last)});
  link_->tell(folder_.note().job, unix_ns(), WatcherLeft{});
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
