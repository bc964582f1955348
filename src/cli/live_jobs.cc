#include "cli/live_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "agent/control_socket.h"
#include "base/words.h"
#include "cli/job_setup.h"

namespace eroica {
namespace {

constexpr double kDeadlineS = 5;
constexpr size_t kMostNamed = 20;

LiveJob ask(FoundFolder folder) {
  LiveJob job;
  const Result<std::string> answer = ask_watcher(folder);
  const std::optional<JobStatus> status = answer ? decode_status(*answer) : std::nullopt;
  if (status) {
    job.watched = true;
    job.status = *status;
    job.status.folder = folder.path;
  } else if (!answer && answer.error().kind == Error::Kind::kNotFound) {
    job.problem = folder.waits_for_agent ? "no agent watches it; start 'eroica agent'" : "its 'eroica run' has ended";
  } else {
    job.problem = answer ? "its watcher answers in another language" : answer.error().message;
  }
  job.folder = std::move(folder);
  return job;
}

bool is_called(const LiveJob& job, const std::string& name) {
  const std::filesystem::path path(job.folder.path);
  return job.folder.note.job == name || path == name || path.filename() == name;
}

}  // namespace

Result<std::string> ask_watcher(const FoundFolder& folder, const ControlRequest& request) {
  return ask_control(control_socket_in(folder.path), request, kDeadlineS);
}

std::vector<LiveJob> find_live_jobs() {
  std::optional<uid_t> owner;
  if (geteuid() != 0) owner = geteuid();
  std::vector<LiveJob> jobs;
  for (FoundFolder& folder : find_job_folders(job_bases(process_environment()), owner)) {
    jobs.push_back(ask(std::move(folder)));
  }
  return jobs;
}

std::string jobs_in_words(const std::vector<LiveJob>& jobs) {
  if (jobs.empty()) return "there is no job on this host";
  std::vector<std::string> names;
  for (const LiveJob& job : jobs) {
    const bool twice = std::ranges::count_if(jobs, [&](const LiveJob& other) {
                         return other.folder.note.job == job.folder.note.job;
                       }) > 1;
    names.push_back(twice ? fmt::format("{} ({})", job.folder.note.job, job.folder.path) : job.folder.note.job);
  }
  return "there is " + some_of(names, kMostNamed);
}

Result<LiveJob> pick_job(const std::vector<LiveJob>& jobs, const std::string& name) {
  std::vector<LiveJob> found;
  std::ranges::copy_if(jobs, std::back_inserter(found), [&](const LiveJob& job) { return is_called(job, name); });
  if (found.size() > 1) {  // what has ended is not meant
    std::erase_if(found, [](const LiveJob& job) { return !job.watched; });
    if (found.empty()) return Error{Error::Kind::kNotFound, fmt::format("nobody watches a job '{}' any more", name)};
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return Error{Error::Kind::kNotFound, fmt::format("there is no job '{}' here; {}", name, jobs_in_words(jobs))};
  }
  return Error{Error::Kind::kAmbiguous,
               fmt::format("several jobs are called '{}'; name the folder: {}", name, jobs_in_words(found))};
}

}  // namespace eroica
