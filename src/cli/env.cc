#include "cli/env.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "agent/job_folder.h"
#include "base/words.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/server_access.h"
#include "cli/text_or_json.h"

namespace eroica {
namespace {

constexpr const char* kSilent = "5";  // above Kineto's errors

using Form = EnvOptions::Form;
using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kExamples =
    "Makes the folder of a job on this host, or finds the one of the same id, and prints the environment with which\n"
    "'eroica agent' watches the job, whether the agent runs already or is started later. The folder goes when the\n"
    "shell that asked and the processes of the job have ended.\n"
    "\n"
    "Examples:\n"
    "  eval \"$(eroica env --job job7)\"                 and then start the job as ever\n"
    "  eroica env --job job7 --format plain > job.env  for 'docker run --env-file job.env -v /tmp:/tmp'\n"
    "\n"
    "Exit status: 0 done, 64 wrong usage, 74 the folder could not be made.";

std::string quoted(std::string text) {
  fill_placeholder(text, "'", "'\\''");
  return "'" + text + "'";
}

std::string written(const Variables& variables, Form form) {
  if (form == Form::kJson) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const auto& [name, value] : variables) json[name] = value;
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  std::string text;
  for (const auto& [name, value] : variables) {
    text +=
        form == Form::kShell ? fmt::format("export {}={}\n", name, quoted(value)) : fmt::format("{}={}\n", name, value);
  }
  return text;
}

}  // namespace

CLI::App* add_env(CLI::App& app, EnvOptions& options) {
  CLI::App* command = app.add_subcommand("env", "Print the environment of a job that 'eroica agent' is to watch");
  add_job_option(command, options.job, "The job's id; default: of SLURM, or made up");
  command->add_flag("--watch-only", options.watch_only, "Never profile");
  add_probe_option(command, options.probe);
  command
      ->add_option_function<std::string>(
          "--format",
          [&options](const std::string& text) {
            if (text != "sh" && text != "plain" && text != "json") {
              throw CLI::ValidationError("--format", "expected sh, plain or json");
            }
            options.form = text == "sh" ? Form::kShell : text == "plain" ? Form::kPlain : Form::kJson;
          },
          "sh (default), plain (NAME=value) or json")
      ->type_name("FORMAT");
  command->footer(kExamples);
  return command;
}

int run_env(const EnvOptions& options, Log& log) {
  const std::string probe = find_probe(options.probe);
  if (probe.empty()) {
    log.error(no_probe(options.probe));
    return kExitUsage;
  }
  const std::string base = job_bases(process_environment()).front();
  remove_left_folders(base);
  // Our parent is the shell that will start the job.
  const ProcessMark shell = mark_of(getppid());
  const bool is_told = !environment_text("EROICA_SERVER").empty();
  const std::string otherwise = is_told ? made_up_job("job", shell) : fmt::format("job-{}", shell.pid);
  const JobNote note{job_name(options.job, otherwise), !options.watch_only, shell};
  const Result<std::string> folder = open_job_folder(base, note, kineto_config_for_job());
  if (!folder) {
    log.error(folder.error().message);
    return kExitNoOutput;
  }
  const JobVariables variables{note.job, *folder,        traces_in(*folder), kineto_config_in(*folder),
                               probe,    note.profiling, find_nccl_plugin()};
  Variables all = job_environment(variables, process_environment());
  // Without an agent Kineto would complain on standard error, once a second.
  if (note.profiling && environment_text("KINETO_LOG_LEVEL").empty()) all.emplace_back("KINETO_LOG_LEVEL", kSilent);
  for (const auto& [name, value] : all) {
    if (options.form == Form::kPlain && value.find('\n') != std::string::npos) {
      log.error(name + ": a value of several lines cannot be written as --format plain");
      return kExitUsage;
    }
  }
  return print(written(all, options.form), log);
}

}  // namespace eroica
