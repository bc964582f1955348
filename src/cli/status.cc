#include "cli/status.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "agent/control_message.h"
#include "base/clocks.h"
#include "base/rank_list.h"
#include "base/words.h"
#include "cli/cost_text.h"
#include "cli/live_jobs.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/text_or_json.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExamples =
    "Asks the watchers of the jobs on this host, of 'eroica run' and of 'eroica agent', how their jobs stand.\n"
    "JOB is an id, or the path or the name of a job's folder.\n"
    "\n"
    "Examples:\n"
    "  eroica status\n"
    "  eroica status job7 --format json | jq '.jobs[0].state'\n"
    "\n"
    "Exit status: 0 told, 2 there is no such job, or several, 64 wrong usage.";

std::string state_in_words(const JobStatus& status) {
  switch (status.state) {
    case JobState::kStarting:
      return "waits for its first rank";
    case JobState::kLearning:
      return "learning what is usual";
    case JobState::kHealthy:
      return "healthy";
    case JobState::kSlow:
      return "SLOW";
    case JobState::kBlocked:
      return "BLOCKED";
    case JobState::kEnded:
      return "every rank has left";
    case JobState::kUnwatched:
      return "NO LONGER WATCHED: the watcher has failed";
  }
  return "";
}

std::string window_in_words(const JobStatus& status) {
  std::string taken = fmt::format("{} taken, {} s profiled", status.windows, digits_text(status.profiled_s));
  switch (status.stage) {
    case WindowStage::kNone:
      return taken;
    case WindowStage::kAsked:
      return fmt::format("{} is asked for; {}", status.window, taken);
    case WindowStage::kArmed:
      return fmt::format("{} is about to begin; {}", status.window, taken);
    case WindowStage::kTracing:
      return fmt::format("{} is being taken; {}", status.window, taken);
    case WindowStage::kCollecting:
      return fmt::format("traces of {} are being written; {}", status.window, taken);
    case WindowStage::kAnalysing:
      return fmt::format("{} is being analysed; {}", status.window, taken);
  }
  return taken;
}

std::string cost_in_words(const JobStatus& status) {
  std::string text = in_words(status.cost);
  if (status.interference_ms < 0) return text;
  return fmt::format("{}{}the last window {} of training", text, text.empty() ? "" : "; ",
                     amount_text(status.interference_ms, "ms"));
}

std::string age_in_words(int64_t unix_ns) {
  const double seconds = static_cast<double>(eroica::unix_ns() - unix_ns) * 1e-9;
  if (seconds < 120) return fmt::format("{:.0f} s ago", std::max(0.0, seconds));
  if (seconds < 7200) return fmt::format("{:.0f} min ago", seconds / 60);
  return fmt::format("{:.0f} h ago", seconds / 3600);
}

std::string as_text(const LiveJob& job) {
  const std::string& name = job.folder.note.job;
  if (!job.watched) return fmt::format("{}: {}\n  folder      {}\n", name, job.problem, job.folder.path);
  const JobStatus& status = job.status;
  std::string text = fmt::format("{}: {}\n", name, state_in_words(status));
  if (status.ranks > 0 || status.world_size > 0) {
    text += fmt::format("  ranks       {}", status.ranks);
    if (status.world_size > status.ranks) text += fmt::format(" of {} are seen here", status.world_size);
    text += "\n";
  }
  if (status.step > 0) {
    text += fmt::format("  step        {}", status.step);
    if (status.step_ms > 0) text += fmt::format(", {} each", amount_text(status.step_ms, "ms"));
    if (status.best_ms > 0) text += fmt::format("; usually {}", amount_text(status.best_ms, "ms"));
    text += "\n";
  }
  text += fmt::format("  windows     {}\n", window_in_words(status));
  if (const std::string cost = cost_in_words(status); !cost.empty()) text += fmt::format("  cost        {}\n", cost);
  if (const ToldDiagnosis& last = status.last_diagnosis; last.unix_ns > 0) {
    text += fmt::format("  diagnosis   {} ({}", last.title, last.cause);
    if (!last.ranks.empty()) text += ", " + rank_list(last.ranks);
    text += fmt::format("), {}\n", age_in_words(last.unix_ns));
  }
  if (status.dropped > 0) text += fmt::format("  lost        {} step records\n", status.dropped);
  if (status.refused > 0) text += fmt::format("  refused     {} datagrams\n", status.refused);
  text += fmt::format("  watched by  eroica {}, process {}\n", status.watcher, status.watcher_pid);
  return text;
}

Json as_json(const LiveJob& job) {
  Json json = {{"job", job.folder.note.job}, {"watched", job.watched}, {"folder", job.folder.path}};
  if (!job.watched) {
    json["problem"] = job.problem;
    return json;
  }
  Json status = Json::parse(encode_answer(job.status));
  status.erase("ok");
  json.update(status);
  return json;
}

}  // namespace

CLI::App* add_status(CLI::App& app, StatusOptions& options) {
  CLI::App* command = app.add_subcommand("status", "Say how the live jobs on this host stand");
  command->add_option("JOB", options.job, "Only this one");
  add_json_format(command, options.json);
  command->footer(kExamples);
  return command;
}

int run_status(const StatusOptions& options, Log& log) {
  std::vector<LiveJob> jobs = find_live_jobs();
  if (!options.job.empty()) {
    Result<LiveJob> job = pick_job(jobs, options.job);
    if (!job) {
      log.error(job.error().message);
      return kExitNoInput;
    }
    jobs = {std::move(*job)};
  }
  if (options.json) {
    Json list = Json::array();
    for (const LiveJob& job : jobs) list.push_back(as_json(job));
    return print(Json{{"jobs", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", log);
  }
  std::string text;
  for (const LiveJob& job : jobs) text += printable(as_text(job));  // jobs and folders are named by others
  return print(jobs.empty() ? jobs_in_words(jobs) + "\n" : text, log);
}

}  // namespace eroica
