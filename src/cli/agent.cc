#include "cli/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "cli/agent_supervisor.h"
#include "cli/job_agent.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/signal_set.h"

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

}  // namespace

CLI::App* add_agent(CLI::App& app, AgentOptions& options) {
  CLI::App* command = app.add_subcommand("agent", "Watch all jobs of a host that were started with 'eroica env'");
  add_watch_options(command, options.watch, "Keep windows as bundles, and step records, in folders of this one");
  command->footer(kExamples);
  return command;
}

int run_agent(const AgentOptions& options, Log& log) {
  JobAgentOptions agent;
  agent.watch.watcher = "agent";
  if (const int status = prepare_watch(options.watch, agent.watch, log); status != 0) return status;
  agent.base = job_bases(process_environment()).front();
  agent.watch.report.is_one_of_many = true;
  agent.server = link_of(options.watch);
  if (!options.watch.json.empty()) {
    // Open from here on: it may be root's, and who writes has the rights of a job's user.
    const int fd = open(options.watch.json.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
      log.error(fmt::format("{}: {}", options.watch.json, std::strerror(errno)));
      return kExitNoOutput;
    }
    agent.watch.report.append = [fd, path = options.watch.json](const std::string& line) {
      return append_line(fd, path, line);
    };
  }
  if (!options.watch.keep.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.watch.keep, error);
    if (error) {
      log.error(fmt::format("{}: {}", options.watch.keep, error.message()));
      return kExitNoOutput;
    }
  }
  const sigset_t ending = signal_set({SIGTERM, SIGINT, SIGHUP, SIGCHLD});
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  if (geteuid() != 0) {
    say(fmt::format("watching for jobs in {}", agent.base));
    JobAgent(std::move(agent)).run();
    return 0;
  }
  say(fmt::format("watching for jobs of all users in {}", agent.base));
  return supervise(std::move(agent), log);
}

}  // namespace eroica
