#include "cli/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/agent_supervisor.h"
#include "cli/executor.h"
#include "cli/job_agent.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/policy_load.h"
#include "cli/rules_source.h"

namespace eroica {
namespace {

constexpr const char* kExamples =
    "Watches all jobs on this host that were started with the environment that 'eroica env' prints, until it is\n"
    "ended; a job goes on without it, and is found again by the next one. For root it watches the jobs of all users,\n"
    "each user's in a process that has that user's rights alone.\n"
    "\n"
    "Examples:\n"
    "  eroica agent --json /var/log/eroica.jsonl --keep /scratch/windows\n"
    "  eval \"$(eroica env --job job7)\"; torchrun --nproc-per-node 8 train.py     in another shell\n"
    "  eroica status; eroica trigger job7 --wait\n"
    "\n"
    "Exit status: 0 ended by SIGTERM, SIGINT or SIGHUP, 64 wrong usage, 74 output could not be written.";

void block_ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

CLI::App* add_agent(CLI::App& app, AgentOptions& options) {
  CLI::App* command = app.add_subcommand("agent", "Watch all jobs of a host that were started with 'eroica env'");
  command->add_option("--policy", options.policy, "When to speak up and to profile; a file, default or eroica")
      ->type_name("POLICY");
  command->add_flag("--watch-only", options.watch_only, "Never profile");
  add_window_option(command, options.window_s);
  command->add_option("--json", options.json, "Append each diagnosis to this file, one line each")->type_name("FILE");
  command->add_option("--keep", options.keep, "Keep windows as bundles, and step records, in folders of this one")
      ->type_name("DIR");
  command->footer(kExamples);
  return command;
}

int run_agent(const AgentOptions& options, Log& log) {
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
  JobAgentOptions agent;
  agent.base = job_bases([](const char* name) { return std::getenv(name); }).back();
  agent.watch.watcher = "agent";
  agent.watch.policy = *policy;
  agent.watch.watch_only = options.watch_only;
  agent.watch.window_s = options.window_s;
  agent.watch.report.is_one_of_many = true;
  agent.watch.report.rules = std::move(*rules);
  agent.watch.report.threads = std::max<size_t>(1, available_cores() / 2);
  agent.watch.report.keep = options.keep;
  if (!options.json.empty()) {
    // Open from here on: it may be root's, and who writes has the rights of a job's user.
    const int fd = open(options.json.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
      log.error(fmt::format("{}: {}", options.json, std::strerror(errno)));
      return kExitNoOutput;
    }
    agent.watch.report.append = [fd, path = options.json](const std::string& line) {
      return append_line(fd, path, line);
    };
  }
  if (!options.keep.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.keep, error);
    if (error) {
      log.error(fmt::format("{}: {}", options.keep, error.message()));
      return kExitNoOutput;
    }
  }
  block_ending_signals();
  if (geteuid() != 0) {
    say(fmt::format("watching for jobs in {}", agent.base));
    JobAgent(std::move(agent)).run();
    return 0;
  }
  say(fmt::format("watching for jobs of all users in {}", agent.base));
  return supervise(std::move(agent), log);
}

}  // namespace eroica
