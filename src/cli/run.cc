#include "cli/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "cli/child_process.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/server_access.h"
#include "cli/watched_job.h"

namespace eroica {
namespace {

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
  add_watch_options(command, options.watch, "Keep windows as bundles, and step records, in this folder");
  add_job_option(command, options.job, "The job's id; default: of SLURM, or made up");
  add_probe_option(command, options.probe);
  command->footer(kExamples);
  return command;
}

int run_run(const RunOptions& options, Log& log) {
  const WatchCommand& how = options.watch;
  WatchedJobOptions watch;
  watch.watcher = "run";
  if (const int status = prepare_watch(how, watch, log); status != 0) return status;
  const std::string probe = find_probe(options.probe);
  if (probe.empty()) {
    log.error(no_probe(options.probe));
    return kExitUsage;
  }
  if (!how.json.empty()) {
    if (!std::ofstream(how.json, std::ios::app)) {
      log.error(how.json + ": cannot be written");
      return kExitNoOutput;
    }
    watch.report.append = [path = how.json](const std::string& line) { return append_line(path, line); };
  }
  std::optional<ServiceLinkOptions> server = link_of(how);
  const ProcessMark self = mark_of(getpid());
  const std::string otherwise = server ? made_up_job("run", self) : fmt::format("run-{}", self.pid);
  const JobNote note{job_name(options.job, otherwise), !how.watch_only, self};
  Result<JobFolder> folder = JobFolder::make(job_bases(process_environment()), note, kineto_config_for_job());
  if (!folder) {
    log.error(folder.error().message);
    return kExitNoOutput;
  }
  std::optional<ServiceLink> link;
  if (server) watch.link = &link.emplace(std::move(*server));
  const JobVariables variables{note.job, folder->sockets(), folder->traces(),  folder->kineto_config(),
                               probe,    note.profiling,    find_nccl_plugin()};
  Result<std::unique_ptr<WatchedJob>> job = WatchedJob::make(std::move(*folder), std::move(watch));
  if (!job) {
    log.error(job.error().message);
    return kExitNoOutput;
  }
  // Before there are threads.
  Result<ChildProcess> child = ChildProcess::start(options.command, job_environment(variables, process_environment()));
  if (!child) {
    log.error(child.error().message);
    return child.error().kind == Error::Kind::kNotFound ? kExitNoCommand : kExitCannotRun;
  }
  if (link) link->start();
  (*job)->start();
  const int status = child->wait();
  ChildProcess::release_signals();
  (*job)->stop();
  if (link) link->stop();
  sum_up((*job)->summary(), (*job)->diagnoses());
  if (const Status kept = (*job)->keep_records(how.keep); !kept) log.error(kept.error().message);
  return status;
}

}  // namespace eroica
