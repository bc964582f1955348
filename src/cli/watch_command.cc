#include "cli/watch_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/executor.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/policy_load.h"
#include "cli/rules_source.h"
#include "cli/watched_job.h"

namespace eroica {

void add_watch_options(CLI::App* command, WatchCommand& options, const char* keep) {
  command->add_option("--policy", options.policy, "When to speak up and to profile; a file, default or eroica")
      ->type_name("POLICY");
  command->add_flag("--watch-only", options.watch_only, "Never profile");
  add_window_option(command, options.window_s);
  command->add_option("--json", options.json, "Append each diagnosis to this file, one line each")->type_name("FILE");
  command->add_option("--keep", options.keep, keep)->type_name("DIR");
}

int prepare_watch(const WatchCommand& options, WatchedJobOptions& watch, Log& log) {
  const Result<Policy> policy = load_policy(options.policy, log);
  if (!policy) {
    log.error(policy.error().message);
    return kExitUsage;
  }
  Result<RuleSet> rules = load_rules({});
  if (!rules) {
    log.error(rules.error().message);
    return kExitNoOutput;
  }
  watch.policy = *policy;
  watch.watch_only = options.watch_only;
  watch.window_s = options.window_s;
  watch.report.keep = options.keep;
  watch.report.rules = std::move(*rules);
  watch.report.threads = std::max<size_t>(1, available_cores() / 2);
  return 0;
}

}  // namespace eroica
