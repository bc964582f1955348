#include "cli/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/job_folder.h"
#include "agent/watcher.h"
#include "cli/child_process.h"
#include "cli/executor.h"
#include "cli/live_report.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/policy_load.h"
#include "cli/rules_source.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr int kExitCannotRun = 126;
constexpr int kExitNoCommand = 127;
constexpr double kMostWindowS = 600;

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

std::optional<double> seconds_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc()) return std::nullopt;
  if (unit == "ms") value *= 1e-3;
  if (!(unit.empty() || unit == "s" || unit == "ms") || !(value >= 0.1) || value > kMostWindowS) return std::nullopt;
  return value;
}

bool is_probe(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "site" / "sitecustomize.py", error);
}

/// The probe's folder: installed beside this program, or in the source tree that it was built from.
std::string find_probe(const std::string& named) {
  std::error_code error;
  if (!named.empty()) return is_probe(named) ? fs::absolute(named, error).string() : std::string();
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {bin / ".." / "share" / "eroica" / "probe", fs::path(EROICA_PROBE_DIR)}) {
    if (is_probe(folder)) return fs::canonical(folder, error).string();
  }
  return "";
}

std::string job_name(const RunOptions& options) {
  if (!options.job.empty()) return options.job;
  const char* slurm = std::getenv("SLURM_JOB_ID");
  return slurm != nullptr && *slurm != '\0' ? slurm : fmt::format("run-{}", getpid());
}

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The user's own configuration of Kineto stays in force.
Status write_kineto_config(const std::string& path) {
  std::string users;
  if (const std::string theirs = environment_text("KINETO_CONFIG"); !theirs.empty()) {
    std::ifstream file(theirs, std::ios::binary);
    users.assign(std::istreambuf_iterator<char>(file), {});
  }
  return write_file(path, kineto_config_text(users));
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
  command
      ->add_option_function<std::string>(
          "--window",
          [&options](const std::string& text) {
            options.window_s = seconds_of(text);
            if (!options.window_s) throw CLI::ValidationError("--window", "expected 100ms to 600s, as in 5s");
          },
          "Profile for so long; default: about ten steps")
      ->type_name("TIME");
  command->add_option("--json", options.json, "Append each diagnosis to this file, one line each")->type_name("FILE");
  command->add_option("--keep", options.keep, "Keep windows as bundles, and step records, in this folder")
      ->type_name("DIR");
  command->add_option("--job", options.job, "The job's id; default: of SLURM, or made up")->type_name("ID");
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
    log.error(options.probe.empty() ? "the probe is not found; name its folder with --probe"
                                    : options.probe + ": no probe there (site/sitecustomize.py is missing)");
    return kExitUsage;
  }
  if (!options.json.empty() && !std::ofstream(options.json, std::ios::app)) {
    log.error(options.json + ": cannot be written");
    return kExitNoOutput;
  }
  Result<RuleSet> rules = load_rules({});
  Result<JobFolder> folder = JobFolder::make(environment_text("XDG_RUNTIME_DIR"));
  if (!rules || !folder) {
    log.error(!rules ? rules.error().message : folder.error().message);
    return kExitNoOutput;
  }
  if (const Status written = write_kineto_config(folder->kineto_config()); !written) {
    log.error(written.error().message);
    return kExitNoOutput;
  }
  LiveReport report({job_name(options), options.json, options.keep, std::move(rules.value()),
                     std::max<size_t>(1, available_cores() / 2)});
  const WatchOptions watch{job_name(options), *policy, options.watch_only, options.window_s};
  Result<std::unique_ptr<Watcher>> watcher =
      Watcher::make(*folder, watch, [&report](WatchNews news) { report.hear(std::move(news)); });
  if (!watcher) {
    log.error(watcher.error().message);
    return kExitNoOutput;
  }
  const JobVariables variables{watch.job, folder->sockets(),  folder->traces(), folder->kineto_config(),
                               probe,     !options.watch_only};
  // Before there are threads.
  Result<ChildProcess> child = ChildProcess::start(
      options.command, job_environment(variables, [](const char* name) { return std::getenv(name); }));
  if (!child) {
    log.error(child.error().message);
    return child.error().kind == Error::Kind::kNotFound ? kExitNoCommand : kExitCannotRun;
  }
  report.start();
  (*watcher)->start();
  const int status = child->wait();
  ChildProcess::release_signals();
  (*watcher)->stop();
  report.finish();
  sum_up((*watcher)->summary(), report.diagnoses());
  if (!options.keep.empty() && (*watcher)->summary().records > 0) {
    std::error_code error;
    fs::create_directories(options.keep, error);
    const Status kept = write_file((fs::path(options.keep) / "records.steps").string(), (*watcher)->records());
    if (!kept) log.error(kept.error().message);
  }
  return status;
}

}  // namespace eroica
