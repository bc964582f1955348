#include "cli/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/child_process.h"
#include "cli/executor.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/policy_load.h"
#include "cli/rules_source.h"
#include "cli/watched_job.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr int kExitCannotRun = 126;
constexpr int kExitNoCommand = 127;

constexpr const char* kExamples =
    "Runs the command, watches its ranks from the first step on, and says who is to blame when it becomes slow\n"
    "or stands still. The script needs no change. Standard input and output and the exit status are the command's.\n"
    "\n"
    "Examples:\n"
    "  eroica run -- torchrun --nproc-per-node 8 train.py\n"
    "  eroica run --json diagnoses.jsonl --keep windows/ -- torchrun --nproc-per-node 8 train.py\n"
    "  eroica run --watch-only -- python train.py              never profile, only say when it is slow\n"
    "\n"
    "Exit status: the command's; 126 it could not be run, 127 there is no such command, 64 wrong usage.";

std::string job_name(const RunOptions& options) {
  if (!options.job.empty()) return options.job;
  const std::string slurm = slurm_job();
  return is_job_id(slurm) ? slurm : fmt::format("run-{}", getpid());
}

void sum_up(const WatchSummary& summary, size_t diagnoses) {
  if (summary.ranks == 0) {
    return say("no rank was seen: only processes that import torch and step an optimizer are watched");
  }
  std::string text =
      fmt::format("{} steps of {} rank{}", summary.last_step, summary.ranks, summary.ranks == 1 ? "" : "s");
  text += fmt::format(", {} window{}", summary.windows, summary.windows == 1 ? "" : "s");
  if (summary.windows > 0) text += fmt::format(" ({:.0f} s profiled)", summary.profiled_s);
  text += fmt::format(", {} diagnos{}", diagnoses, diagnoses == 1 ? "is" : "es");
  if (summary.dropped > 0) text += fmt::format("; {} step records were lost", summary.dropped);
  say(text);
}

}  // namespace

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* command = app.add_subcommand("run", "Run a training job, watch it, and say why it is slow or stuck");
  command->add_option("--policy", options.policy, "When to speak up and to profile; a file, default or eroica")
      ->type_name("POLICY");
  command->add_flag("--watch-only", options.watch_only, "Never profile");
  add_window_option(command, options.window_s);
  command->add_option("--json", options.json, "Append each diagnosis to this file, one line each")->type_name("FILE");
  command->add_option("--keep", options.keep, "Keep windows as bundles, and step records, in this folder")
      ->type_name("DIR");
  add_job_option(command, options.job, "The job's id; default: of SLURM, or made up");
  command->add_option("--probe", options.probe, "Folder of the probe; default: the one that came with eroica")
      ->type_name("DIR");
  command->footer(kExamples);
  return command;
}

int run_run(const RunOptions& options, Log& log) {
  const Result<Policy> policy = load_policy(options.policy, log);
  if (!policy) {
    log.error(policy.error().message);
    return kExitUsage;
  }
  const std::string probe = find_probe(options.probe);
  if (probe.empty()) {
    log.error(no_probe(options.probe));
    return kExitUsage;
  }
  if (!options.json.empty() && !std::ofstream(options.json, std::ios::app)) {
    log.error(options.json + ": cannot be written");
    return kExitNoOutput;
  }
  Result<RuleSet> rules = load_rules({});
  if (!rules) {
    log.error(rules.error().message);
    return kExitNoOutput;
  }
  const JobNote note{job_name(options), !options.watch_only, mark_of(getpid())};
  const Environment environment = [](const char* name) { return std::getenv(name); };
  Result<JobFolder> folder = JobFolder::make(job_bases(environment), note, kineto_config_for_job());
  if (!folder) {
    log.error(folder.error().message);
    return kExitNoOutput;
  }
  const JobVariables variables{note.job, folder->sockets(), folder->traces(), folder->kineto_config(),
                               probe,    note.profiling};
  WatchedJobOptions watch;
  watch.watcher = "run";
  watch.policy = *policy;
  watch.window_s = options.window_s;
  watch.report.keep = options.keep;
  watch.report.rules = std::move(*rules);
  watch.report.threads = std::max<size_t>(1, available_cores() / 2);
  if (!options.json.empty()) {
    watch.report.append = [path = options.json](const std::string& line) { return append_line(path, line); };
  }
  Result<std::unique_ptr<WatchedJob>> job = WatchedJob::make(std::move(*folder), std::move(watch));
  if (!job) {
    log.error(job.error().message);
    return kExitNoOutput;
  }
  // Before there are threads.
  Result<ChildProcess> child = ChildProcess::start(options.command, job_environment(variables, environment));
  if (!child) {
    log.error(child.error().message);
    return child.error().kind == Error::Kind::kNotFound ? kExitNoCommand : kExitCannotRun;
  }
  (*job)->start();
  const int status = child->wait();
  ChildProcess::release_signals();
  (*job)->stop();
  sum_up((*job)->summary(), (*job)->diagnoses());
  if (!options.keep.empty() && (*job)->summary().records > 0) {
    std::error_code error;
    fs::create_directories(options.keep, error);
    const Status kept = write_file((fs::path(options.keep) / "records.steps").string(), (*job)->records());
    if (!kept) log.error(kept.error().message);
  }
  return status;
}

}  // namespace eroica
