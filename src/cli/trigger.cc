#include "cli/trigger.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <thread>

#include "agent/control_message.h"
#include "cli/job_setup.h"
#include "cli/live_jobs.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/text_file.h"
#include "cli/text_or_json.h"

namespace eroica {
namespace {

constexpr double kMostWaitS = 1200;  // beyond the longest window, writing and analysis
constexpr std::chrono::milliseconds kPoll{250};
constexpr int kMostSilent = 20;
constexpr size_t kMostDocumentBytes = size_t{64} << 20;

constexpr const char* kExamples =
    "Takes a window of a live job now, whatever its policy says; what is found is told where the job is watched.\n"
    "JOB is an id, or the path or the name of a job's folder; 'eroica status' shows them.\n"
    "\n"
    "Examples:\n"
    "  eroica trigger job7\n"
    "  eroica trigger job7 --wait                       and print the diagnosis here\n"
    "  eroica trigger job7 --window 5s --reason 'loss is odd' --wait --format json\n"
    "\n"
    "Exit status: 0 the window begins (with --wait: nothing is wrong), 1 with --wait: something is wrong with the\n"
    "job, 2 no window, no answer or no such job, 64 wrong usage.";

int64_t number_of(const std::string& window) {
  int64_t number = -1;
  const size_t digits = window.find_first_of("0123456789");
  if (digits != std::string::npos) std::from_chars(window.data() + digits, window.data() + window.size(), number);
  return number;
}

/// What came of the window, or why that is never known.
Result<WindowOutcome> await(const LiveJob& job, const std::string& window) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostWaitS);
  int silent = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPoll);
    const Result<std::string> answer = ask_watcher(job.folder);
    const std::optional<JobStatus> status = answer ? decode_status(*answer) : std::nullopt;
    if (!status) {
      if (++silent < kMostSilent) continue;
      return Error{Error::Kind::kNotFound, "the job or its watcher has ended before the window was told"};
    }
    silent = 0;
    if (status->watcher_pid != job.status.watcher_pid || status->since_unix_ns != job.status.since_unix_ns) {
      return Error{Error::Kind::kNotFound, "the watcher was started again and knows nothing of the window"};
    }
    if (number_of(status->last_window.id) >= number_of(window)) {
      if (status->last_window.id == window) return status->last_window;
      return Error{Error::Kind::kNotFound, "a later window has taken its place; see where the job is watched"};
    }
  }
  return Error{Error::Kind::kUnreadable, "the window was not told in time"};
}

int tell(const WindowOutcome& outcome, bool json, Log& log) {
  if (outcome.document.empty()) {
    log.error(outcome.text);
    return kExitNoInput;
  }
  std::filesystem::path path(outcome.document);
  if (!json) path.replace_extension(".txt");
  const Result<std::string> text = read_text_file(path.string(), kMostDocumentBytes);
  if (!text || text->empty()) {
    log.error(outcome.document + ": cannot be read; it told of: " + outcome.text);
    return kExitNoInput;
  }
  const int status = print(json ? *text : printable(*text), log);
  return status != 0 ? status : outcome.claims ? kExitClaims : kExitHealthy;
}

}  // namespace

CLI::App* add_trigger(CLI::App& app, TriggerOptions& options) {
  CLI::App* command = app.add_subcommand("trigger", "Profile a live job now");
  command->add_option("JOB", options.job, "Which; 'eroica status' shows them")->required();
  add_window_option(command, options.window_s);
  command->add_option("--reason", options.reason, "Why, for those who read what is told of the job")->type_name("TEXT");
  command->add_flag("--wait", options.wait, "Until the window is analysed, and print what was found");
  add_json_format(command, options.json);
  command->footer(kExamples);
  return command;
}

int run_trigger(const TriggerOptions& options, Log& log) {
  const Result<LiveJob> job = pick_job(find_live_jobs(), options.job);
  if (!job || !job->watched) {
    log.error(!job ? job.error().message : fmt::format("{}: {}", options.job, job->problem));
    return kExitNoInput;
  }
  const ControlRequest request{ControlRequest::Kind::kTrigger, options.window_s, options.reason};
  const Result<std::string> packet = ask_watcher(job->folder, request);
  const std::optional<TriggerAnswer> answer = packet ? decode_trigger_answer(*packet) : std::nullopt;
  if (!answer) {
    log.error(packet ? "the job's watcher answers in another language" : packet.error().message);
    return kExitNoInput;
  }
  if (!answer->refused.empty()) {
    log.error("no window: " + answer->refused);
    return kExitNoInput;
  }
  const std::string begins =
      fmt::format("{} of {} rank{} begins in {:.1f} s and lasts {:.1f} s\n", answer->window, answer->ranks,
                  answer->ranks == 1 ? "" : "s", answer->begins_in_s, answer->length_s);
  if (!options.wait) return print(options.json ? *packet + "\n" : printable(begins), log);
  std::fputs(("eroica: " + printable(begins)).c_str(), stderr);
  const Result<WindowOutcome> outcome = await(*job, answer->window);
  if (!outcome) {
    log.error(outcome.error().message);
    return kExitNoInput;
  }
  return tell(*outcome, options.json, log);
}

}  // namespace eroica
