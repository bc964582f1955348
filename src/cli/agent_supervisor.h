#pragma once

#include "cli/job_agent.h"

namespace eroica {

class Log;

/// As root: one process for each user that has jobs, which has given up root's rights for good before it looks at
/// anything of theirs. So sockets, files and traces are met with no more rights than the job itself has. Until SIGTERM,
/// SIGINT or SIGHUP, which have to be blocked, as SIGCHLD has. Gives the exit status. The process must have one thread.
int supervise(JobAgentOptions options, Log& log);

}  // namespace eroica
