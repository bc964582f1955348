#include "cli/server_client.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "agent/json_member.h"
#include "base/clocks.h"
#include "base/words.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/server_access.h"
#include "cli/text_or_json.h"
#include "coordinator/json.h"
#include "web/target.h"

namespace eroica {
namespace {

using In = nlohmann::json;
using Json = nlohmann::ordered_json;

constexpr const char* kFooter =
    "Asks an 'eroica serve'. --server and --token may stand in EROICA_SERVER and EROICA_TOKEN.\n"
    "Exit status: 0 told, 2 no answer or there is no such thing, 64 wrong usage.";

constexpr size_t kMostAnswerBytes = size_t{64} << 20;

std::string ago(int64_t unix_ns) {
  if (unix_ns <= 0) return "";
  const double seconds = std::max(0.0, static_cast<double>(eroica::unix_ns() - unix_ns) * 1e-9);
  if (seconds < 120) return fmt::format("{:.0f} s ago", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min ago", seconds / 60);
  if (seconds < 172'800) return fmt::format("{:.0f} h ago", seconds / 3600);
  return fmt::format("{:.0f} days ago", seconds / 86'400);
}

std::string gpu_time(double seconds) {
  if (seconds < 3600) return fmt::format("{} GPU s", digits_text(seconds));
  return fmt::format("{} GPU h", digits_text(seconds / 3600));
}

/// The objects of a list of the answer.
std::vector<In> items(const In& object, const char* key) {
  std::vector<In> list;
  const In* array = member(object, key);
  if (array == nullptr || !array->is_array()) return list;
  std::ranges::copy_if(*array, std::back_inserter(list), [](const In& item) { return item.is_object(); });
  return list;
}

std::string jobs_text(const In& answer) {
  std::string out;
  for (const In& job : items(answer, "jobs")) {
    out += fmt::format("{:<28} {:<9}", text(job, "job"), flag(job, "silent") ? "silent" : text(job, "state"));
    out += fmt::format(" {:>5} rank{}", integer(job, "ranks", 0), integer(job, "ranks", 0) == 1 ? " " : "s");
    if (const double ms = number(job, "step_ms", 0); ms > 0) out += fmt::format("  {} a step", amount_text(ms, "ms"));
    if (const int64_t id = integer(job, "incident", 0); id > 0) out += fmt::format("  incident {}", id);
    out += "\n";
  }
  return out.empty() ? "no jobs\n" : out;
}

std::string incidents_text(const In& answer) {
  std::string out;
  for (const In& one : items(answer, "incidents")) {
    out +=
        fmt::format("{:>5}  {:<10} {}, {}; {} lost\n", integer(one, "id", 0), text(one, "state"), text(one, "headline"),
                    ago(integer(one, "detected_unix_ns", 0)), gpu_time(number(one, "lost_gpu_s", 0)));
  }
  return out.empty() ? "no incidents\n" : out;
}

std::string delay_text(const In& incident, const char* what, const char* from, const char* to) {
  const int64_t begin_ns = integer(incident, from, 0);
  const int64_t end_ns = integer(incident, to, 0);
  if (begin_ns <= 0 || end_ns <= 0) return "";
  return fmt::format("  {:<12} after {:.0f} s\n", what, std::max(0.0, static_cast<double>(end_ns - begin_ns) * 1e-9));
}

std::string change_text(const In& change) {
  std::string out = fmt::format("{}: {}", text(change, "who"), text(change, "what"));
  if (const std::string url = text(change, "url"); !url.empty()) out += fmt::format(" ({})", url);
  return out;
}

std::string incident_text(const In& one) {
  std::string out = fmt::format("{}\n  state        {}", text(one, "headline"), text(one, "state"));
  if (const std::string how = text(one, "resolution"); !how.empty()) out += fmt::format(" ({})", how);
  out += fmt::format("\n  began        {}\n", ago(integer(one, "onset_unix_ns", 0)));
  if (const double usual = number(one, "baseline_ms", 0); usual > 0) {
    out += fmt::format("  step         {} instead of {}\n", amount_text(number(one, "level_ms", 0), "ms"),
                       amount_text(usual, "ms"));
  }
  out += fmt::format("  lost         {}", gpu_time(number(one, "lost_gpu_s", 0)));
  if (const double saved = number(one, "recovered_gpu_s", 0); saved > 0) {
    out += fmt::format("; {} saved since it recovered", gpu_time(saved));
  }
  out += fmt::format("\n  windows      {} (cost {})\n", integer(one, "windows_count", 0),
                     gpu_time(number(one, "interference_gpu_s", 0)));
  out += delay_text(one, "detected", "onset_unix_ns", "detected_unix_ns");
  out += delay_text(one, "localised", "onset_unix_ns", "localised_unix_ns");
  out += delay_text(one, "acted on", "detected_unix_ns", "acted_unix_ns");
  out += delay_text(one, "recovered", "onset_unix_ns", "recovered_unix_ns");
  for (const In& claim : items(one, "claims")) {
    out +=
        fmt::format("\n{} ({}, {:.0f} % sure, told {} time{}; diagnosis {})\n  {}\n", text(claim, "title"),
                    text(claim, "cause"), 100 * number(claim, "confidence", 0), integer(claim, "times", 1),
                    integer(claim, "times", 1) == 1 ? "" : "s", integer(claim, "document", 0), text(claim, "summary"));
    if (const std::string action = text(claim, "action"); !action.empty()) out += fmt::format("  next: {}\n", action);
  }
  const std::vector<In> near = items(one, "changes_near_onset");
  if (!near.empty()) out += "\nchanged before it was told:\n";
  for (const In& change : near) {
    out += fmt::format("  {:.0f} s before it began: {}\n", number(change, "before_onset_s", 0), change_text(change));
  }
  const std::vector<In> actions = items(one, "actions");
  if (!actions.empty()) out += "\ndone against it:\n";
  for (const In& change : actions) out += fmt::format("  {}\n", change_text(change));
  for (const In& said : items(one, "feedback")) {
    out += fmt::format("\n{} says: {}", text(said, "who"), text(said, "verdict"));
    if (const std::string cause = text(said, "cause"); !cause.empty()) out += fmt::format(" ({})", cause);
    if (const std::string why = text(said, "text"); !why.empty()) out += fmt::format(", {}", why);
    out += "\n";
  }
  return out;
}

std::string changes_text(const In& answer) {
  std::string out;
  for (const In& change : items(answer, "changes")) {
    out += fmt::format("{:>12}  {}\n", ago(integer(change, "unix_ns", 0)), change_text(change));
  }
  return out.empty() ? "no changes\n" : out;
}

std::string report_text(const In& report) {
  const auto count = [&](const char* key) { return integer(report, key, 0); };
  std::string out = fmt::format("jobs {}, incidents {}: {} diagnosed, {} unresolved\n", count("jobs"),
                                count("incidents"), count("diagnosed"), count("unresolved"));
  out += fmt::format("judged {}: {} right, {} of another cause, {} false alarms (which cost {})\n", count("judged"),
                     count("right"), count("other_cause"), count("false_alarms"),
                     gpu_time(number(report, "false_alarms_gpu_s", 0)));
  out += fmt::format("lost {}, saved after recoveries {}; windows cost {}\n", gpu_time(number(report, "lost_gpu_s", 0)),
                     gpu_time(number(report, "recovered_gpu_s", 0)), gpu_time(number(report, "interference_gpu_s", 0)));
  constexpr std::array<std::pair<const char*, const char*>, 4> kDelays = {{{"to_detection", "onset to detection"},
                                                                           {"to_localisation", "onset to cause"},
                                                                           {"to_fix", "onset to recovery"},
                                                                           {"to_action", "detection to action"}}};
  for (const auto& [key, name] : kDelays) {
    const In* delay = member(report, key);
    if (delay == nullptr || !delay->is_object() || integer(*delay, "known", 0) == 0) continue;
    out += fmt::format("{:<20} median {:.0f} s, 90 % within {:.0f} s (of {})\n", name, number(*delay, "median_s", 0),
                       number(*delay, "p90_s", 0), integer(*delay, "known", 0));
  }
  if (const In* categories = member(report, "categories"); categories != nullptr && categories->is_object()) {
    for (const auto& [name, counted] : categories->items()) {
      if (!counted.is_object()) continue;
      out += fmt::format("  {:<14} {:>5} incidents, {} lost\n", name, integer(counted, "incidents", 0),
                         gpu_time(number(counted, "lost_gpu_s", 0)));
    }
  }
  for (const In& part : items(report, "recurring")) {
    out += fmt::format("comes back: {} {}, {} incidents\n", text(part, "kind"), text(part, "name"),
                       integer(part, "incidents", 0));
  }
  return out;
}

HttpCall call_of(const ServerQuery& query) {
  HttpCall call;
  const int64_t from_ns = std::max<int64_t>(0, unix_ns() - static_cast<int64_t>(query.days * 86'400e9));
  switch (query.kind) {
    case ServerQuery::Kind::kJobs:
      call.target = "/api/v1/jobs";
      break;
    case ServerQuery::Kind::kIncidents:
      call.target = query.all ? "/api/v1/incidents?limit=1000" : "/api/v1/incidents?limit=1000&state=open";
      if (!query.job.empty()) call.target += "&job=" + percent_encoded(query.job);
      break;
    case ServerQuery::Kind::kShow:
      call.target =
          fmt::format("/api/v1/incidents/{}{}", percent_encoded(query.incident), query.json ? "/document" : "");
      break;
    case ServerQuery::Kind::kChanges:
      call.target = "/api/v1/changes";
      if (query.what.empty()) {
        call.target += fmt::format("?limit=1000&from_unix_ns={}", from_ns);
        break;
      }
      call.method = "POST";
      {
        Json change = {{"what", query.what}};
        if (!query.who.empty()) change["who"] = query.who;
        if (!query.for_jobs.empty()) change["jobs"] = {query.for_jobs};
        if (!query.url.empty()) change["url"] = query.url;
        if (!query.against.empty()) change["incident"] = std::stoll(query.against);
        call.body = text_of(change);
      }
      break;
    case ServerQuery::Kind::kFeedback:
      call.method = "POST";
      call.target = fmt::format("/api/v1/incidents/{}/feedback", percent_encoded(query.incident));
      call.body = text_of({{"verdict", query.verdict == "other-cause" ? "other_cause" : query.verdict},
                           {"cause", query.cause},
                           {"text", query.text}});
      break;
    case ServerQuery::Kind::kReport:
      call.target = fmt::format("/api/v1/report?from_unix_ns={}{}", from_ns, query.csv ? "&format=csv" : "");
      break;
  }
  return call;
}

std::string told(const ServerQuery& query, const In& answer) {
  switch (query.kind) {
    case ServerQuery::Kind::kJobs:
      return jobs_text(answer);
    case ServerQuery::Kind::kIncidents:
      return incidents_text(answer);
    case ServerQuery::Kind::kShow:
      return incident_text(answer);
    case ServerQuery::Kind::kChanges:
      return query.what.empty() ? changes_text(answer) : fmt::format("noted as change {}\n", integer(answer, "id", 0));
    case ServerQuery::Kind::kFeedback:
      return "noted\n";
    case ServerQuery::Kind::kReport:
      return report_text(answer);
  }
  return "";
}

CLI::Validator whole() {
  const auto check = [](const std::string& number) -> std::string {
    const bool digits = !number.empty() && number.size() <= 18 &&
                        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    return digits ? "" : "expected the number of an incident";
  };
  return {check, ""};
}

}  // namespace

bool ServerCommands::parsed() const {
  const std::array all = {jobs, incidents, show, changes, feedback, report};
  return std::ranges::any_of(all, [](const CLI::App* command) { return command->parsed(); });
}

ServerCommands add_server_commands(CLI::App& app, ServerQuery& query) {
  using Kind = ServerQuery::Kind;
  const auto command = [&](const char* name, const char* about, Kind kind) {
    CLI::App* sub = app.add_subcommand(name, about);
    add_server_options(sub, query.access);
    sub->callback([&query, kind] { query.kind = kind; });
    sub->footer(kFooter);
    return sub;
  };
  ServerCommands commands;
  commands.jobs = command("jobs", "List the jobs that a server knows", Kind::kJobs);
  add_json_format(commands.jobs, query.json);
  commands.incidents = command("incidents", "List a server's open incidents", Kind::kIncidents);
  commands.incidents->add_option("--job", query.job, "Of this one only")->type_name("JOB");
  commands.incidents->add_flag("--all", query.all, "Closed ones too");
  add_json_format(commands.incidents, query.json);
  commands.show = command("show", "All that a server knows about an incident", Kind::kShow);
  commands.show->add_option("INCIDENT", query.incident, "Its number")->required()->check(whole());
  add_json_format(commands.show, query.json);
  commands.changes = command("changes", "List what was changed, or tell the server of a change", Kind::kChanges);
  commands.changes->add_option("--add", query.what, "What was changed, in words")->type_name("TEXT");
  commands.changes->add_option("--who", query.who, "Who changed it; default: the token's name")->type_name("NAME");
  commands.changes->add_option("--job", query.for_jobs, "Concerns this job; NAME* matches a prefix; default: all")
      ->type_name("JOB");
  commands.changes->add_option("--url", query.url, "Of a ticket or a commit")->type_name("URL");
  commands.changes->add_option("--against", query.against, "It was done against this incident")
      ->type_name("INCIDENT")
      ->check(whole());
  commands.changes->add_option("--days", query.days, "How far back to list; default: 30")
      ->check(CLI::Range(0.0, 36500.0));
  add_json_format(commands.changes, query.json);
  commands.feedback = command("feedback", "Say whether an incident's diagnosis was right", Kind::kFeedback);
  commands.feedback->add_option("INCIDENT", query.incident, "Its number")->required()->check(whole());
  commands.feedback->add_option("VERDICT", query.verdict, "right, wrong or other-cause")
      ->required()
      ->check(CLI::IsMember({"right", "wrong", "other-cause"}));
  commands.feedback->add_option("--cause", query.cause, "What it was")->type_name("CAUSE");
  commands.feedback->add_option("--text", query.text, "For people")->type_name("TEXT");
  add_json_format(commands.feedback, query.json);
  commands.report = command("report", "What happened over a period: incidents, delays, GPU time", Kind::kReport);
  commands.report->add_option("--days", query.days, "How far back; default: 30")->check(CLI::Range(0.0, 36500.0));
  commands.report->add_flag("--csv", query.csv, "As a table of measure, category and value");
  add_json_format(commands.report, query.json);
  return commands;
}

int run_server_query(const ServerQuery& query, Log& log) {
  const Result<KnownServer> server = known_server(query.access);
  if (!server) {
    log.error(server.error().message);
    return kExitUsage;
  }
  HttpCall call = call_of(query);
  call.token = server->token;
  call.most_answer_bytes = kMostAnswerBytes;
  const Result<HttpAnswer> answer = http_call(server->url, call);
  if (!answer) {
    log.error(answer.error().message);
    return kExitNoInput;
  }
  const In json = In::parse(answer->body, nullptr, false);
  if (answer->status / 100 != 2) {
    const std::string why = json.is_object() ? text(json, "error") : "";
    log.error(fmt::format("the server answers {}{}{}", answer->status, why.empty() ? "" : ": ", why));
    return kExitNoInput;
  }
  if (query.kind == ServerQuery::Kind::kReport && query.csv) return print(answer->body, log);
  if (!json.is_object()) {
    log.error("the server answers in another language");
    return kExitNoInput;
  }
  if (query.json) {
    return print(Json::parse(answer->body).dump(2, ' ', false, Json::error_handler_t::replace) + "\n", log);
  }
  return print(printable(told(query, json)), log);
}

}  // namespace eroica
