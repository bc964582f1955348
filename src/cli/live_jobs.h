#pragma once

#include <string>
#include <vector>

#include "agent/control_message.h"
#include "agent/job_folder.h"
#include "agent/job_status.h"
#include "base/result.h"

namespace eroica {

/// A job's folder, and what its watcher answers.
struct LiveJob {
  FoundFolder folder;
  bool watched = false;  ///< somebody answers, and `status` is what he says
  JobStatus status;
  std::string problem;  ///< why nobody answers
};

/// Every job of ours on this host, and as root everybody's.
std::vector<LiveJob> find_live_jobs();

/// The one that is meant by an id, or by the path or the name of its folder. Error kNotFound or kAmbiguous: says which
/// there are.
Result<LiveJob> pick_job(const std::vector<LiveJob>& jobs, const std::string& name);

/// What the watcher of a folder's job answers. Errors as ask_control().
Result<std::string> ask_watcher(const FoundFolder& folder, const ControlRequest& request = {});

/// "job7, run-123 and job9", or that there are none.
std::string jobs_in_words(const std::vector<LiveJob>& jobs);

}  // namespace eroica
