#include "cli/policy.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/policy_file.h"
#include "cli/policy_load.h"
#include "cli/policy_replay.h"
#include "cli/text_file.h"
#include "cli/text_or_json.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExamples =
    "A policy says when a job counts as slow or blocked and when it is profiled (docs/detector.md).\n"
    "\n"
    "Examples:\n"
    "  eroica policy show > policy.toml              the default policy, explained, to start from\n"
    "  eroica policy check policy.toml               exit status 0: fine, 1: problems, each with its line\n"
    "  eroica policy replay --policy policy.toml records/*.steps\n"
    "  eroica policy replay --against eroica incident/steps.json    two policies on the same jobs\n"
    "\n"
    "Exit status: 0 done, 1 check found problems, 2 no input could be used, 64 wrong usage.";

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

int check(const PolicyOptions& options, Log& log) {
  std::string text;
  size_t problems = 0;
  for (const std::string& path : options.paths) {
    const Result<std::string> toml = read_text_file(path);
    if (!toml) {
      log.error(toml.error().message);
      return kExitNoInput;
    }
    const PolicyFile file = parse_policy(*toml, path);
    for (const FileProblem& problem : file.problems) text += printable(in_words(problem)) + "\n";
    problems += file.problems.size();
  }
  text += problems == 0 ? "no problems\n" : fmt::format("{} problem{}\n", problems, problems == 1 ? "" : "s");
  const int status = print(text, log);
  return status != 0 ? status : problems == 0 ? 0 : 1;
}

struct Replayed {
  std::string policy;
  std::vector<ReplayOutcome> outcomes;
};

// -- as JSON

Json to_json(const DetectorEvent& event, double at_s) {
  Json json = {{"event", detector_event_name(event.kind)}, {"step", event.step}, {"at_s", at_s}};
  if (event.kind == DetectorEvent::Kind::kSlow) {
    const SlowFinding& slow = event.slow;
    json["kind"] = slow_kind_name(slow.kind);
    json["worse"] = slow.worse;
    json["onset_step"] = slow.onset_step;
    json["level_ms"] = slow.level_ms;
    json["baseline_ms"] = slow.baseline_ms;
    json["excess_ms"] = slow.excess_ms;
    if (slow.period_steps > 0) json["period_steps"] = slow.period_steps;
    json["confidence"] = slow.confidence;
  }
  if (event.kind == DetectorEvent::Kind::kBlocked) {
    json["all"] = event.blocked.all;
    json["silent_s"] = event.blocked.silent_s;
    json["allowed_s"] = event.blocked.allowed_s;
    Json ranks = Json::array();
    for (const LastStep& rank : event.blocked.ranks) ranks.push_back({{"rank", rank.rank}, {"step", rank.step}});
    json["last_steps"] = std::move(ranks);
  }
  json["window"] = event.window;
  if (event.denied != WindowDenial::kNone) json["window_denied"] = window_denial_name(event.denied);
  return json;
}

Json to_json(const ReplayOutcome& outcome) {
  Json events = Json::array();
  for (size_t i = 0; i < outcome.events.size(); ++i) {
    events.push_back(to_json(outcome.events[i], outcome.at_s[i]));
  }
  Json json = {{"file", outcome.file},
               {"job", outcome.job},
               {"steps", outcome.steps},
               {"seconds", outcome.seconds},
               {"onset_step", outcome.onset_step ? Json(*outcome.onset_step) : Json()},
               {"alarms", outcome.alarms}};
  if (outcome.judged) json["false_alarms"] = outcome.false_alarms;
  if (outcome.delay_steps) {
    json["delay_steps"] = *outcome.delay_steps;
    json["delay_s"] = outcome.delay_s;
    json["lost_until_told_s"] = outcome.lost_until_told_s;
  }
  json["windows"] = outcome.windows;
  json["profiled_s"] = outcome.profiled_s;
  json["lost_to_windows_s"] = outcome.lost_to_windows_s;
  json["events"] = std::move(events);
  return json;
}

Json to_json(const ReplayTotal& total) {
  return {{"jobs", total.jobs},
          {"steps", total.steps},
          {"with_fault", total.faulty},
          {"told", total.told},
          {"healthy_steps", total.healthy_steps},
          {"false_alarms", total.false_alarms},
          {"median_delay_steps", total.median_delay_steps},
          {"worst_delay_steps", total.worst_delay_steps},
          {"windows", total.windows},
          {"profiled_s", total.profiled_s},
          {"lost_to_windows_s", total.lost_to_windows_s}};
}

std::string as_json(const std::vector<Replayed>& all) {
  Json policies = Json::array();
  for (const Replayed& one : all) {
    Json jobs = Json::array();
    for (const ReplayOutcome& outcome : one.outcomes) jobs.push_back(to_json(outcome));
    policies.push_back({{"policy", one.policy}, {"total", to_json(total_of(one.outcomes))}, {"jobs", std::move(jobs)}});
  }
  return dumped({{"schema", "eroica.replay/1"}, {"policies", std::move(policies)}});
}

// -- as text

std::string in_words(const SlowFinding& slow) {
  std::string text = slow.worse ? "worse: " : "slow: ";
  switch (slow.kind) {
    case SlowKind::kShift:
      text += "all steps";
      break;
    case SlowKind::kDrift:
      text += "all steps, little by little";
      break;
    case SlowKind::kLostTime:
      text += "some steps";
      break;
    case SlowKind::kPeriodicStall:
      text += fmt::format("every {} steps", digits_text(slow.period_steps));
      break;
  }
  return text + fmt::format(", since step {}; median {} ms, {} ms while healthy, {} ms a step lost", slow.onset_step,
                            digits_text(slow.level_ms), digits_text(slow.baseline_ms), digits_text(slow.excess_ms));
}

std::string in_words(const DetectorEvent& event) {
  std::string text;
  switch (event.kind) {
    case DetectorEvent::Kind::kSlow:
      text = in_words(event.slow);
      break;
    case DetectorEvent::Kind::kBlocked:
      text = fmt::format("blocked: nothing for {} s, {} s allowed", digits_text(event.blocked.silent_s),
                         digits_text(event.blocked.allowed_s));
      if (!event.blocked.all) text += fmt::format(", {} of the ranks", event.blocked.ranks.size());
      return text + "; its ranks are asked where they stand";
    case DetectorEvent::Kind::kStillSlow:
      return "still slow; window";
    case DetectorEvent::Kind::kRecovered:
      return "recovered";
    case DetectorEvent::Kind::kUnblocked:
      return "goes on";
    case DetectorEvent::Kind::kBaseline:
      return "window of the healthy job";
    case DetectorEvent::Kind::kRequested:
      return "window that was asked for";
  }
  return text + (event.window ? "; window" : fmt::format("; no window ({})", window_denial_name(event.denied)));
}

std::string as_text(const ReplayOutcome& outcome) {
  std::string text = fmt::format("{}: {} steps, {} s", outcome.file, outcome.steps, digits_text(outcome.seconds));
  if (outcome.onset_step) text += fmt::format(", fault from step {}", *outcome.onset_step);
  if (outcome.judged && !outcome.onset_step) text += ", healthy";
  text += outcome.alarms == 0 ? "; no alarm\n" : "\n";
  for (size_t i = 0; i < outcome.events.size(); ++i) {
    text += fmt::format("  step {} ({} s)  {}\n", outcome.events[i].step, digits_text(outcome.at_s[i]),
                        in_words(outcome.events[i]));
  }
  if (outcome.delay_steps) {
    text += fmt::format("  told {} steps ({} s) after the fault began\n", *outcome.delay_steps,
                        digits_text(outcome.delay_s));
  } else if (outcome.onset_step) {
    text += "  the fault was not told\n";
  }
  if (outcome.false_alarms > 0) text += fmt::format("  {} false alarms\n", outcome.false_alarms);
  return text;
}

std::string as_text(const ReplayTotal& total) {
  std::string text =
      fmt::format("{} jobs, {} steps; {} windows, {} s profiled, about {} s of training lost to them\n", total.jobs,
                  total.steps, total.windows, digits_text(total.profiled_s), digits_text(total.lost_to_windows_s));
  if (total.faulty > 0) {
    text += fmt::format("{} of {} faults told", total.told, total.faulty);
    if (total.told > 0) {
      text += fmt::format(", {} steps after they began in the middle, {} at worst",
                          digits_text(total.median_delay_steps), digits_text(total.worst_delay_steps));
    }
    text += "\n";
  }
  if (total.healthy_steps > 0) {
    text += fmt::format("{} false alarms in {} healthy steps\n", total.false_alarms, total.healthy_steps);
  }
  return text;
}

std::string as_text(const std::vector<Replayed>& all) {
  std::string text;
  for (const Replayed& one : all) {
    if (all.size() > 1) text += fmt::format("== policy {}\n\n", one.policy);
    for (const ReplayOutcome& outcome : one.outcomes) text += as_text(outcome);
    text += "\n" + as_text(total_of(one.outcomes));
    if (&one != &all.back()) text += "\n";
  }
  return text;
}

int run_replay(const PolicyOptions& options, Log& log) {
  std::vector<Replayed> all;
  std::vector<Policy> policies;
  for (const std::string& name : {options.policy, options.against}) {
    if (!policies.empty() && name.empty()) break;
    Result<Policy> policy = load_policy(name, log);
    if (!policy) {
      log.error(policy.error().message);
      return kExitNoInput;
    }
    policies.push_back(std::move(*policy));
    all.push_back({name.empty() ? "default" : name, {}});
  }
  std::vector<std::string> paths;
  for (const std::string& given : options.paths) {
    const std::vector<std::string> files = step_record_files(given);
    paths.insert(paths.end(), files.begin(), files.end());
  }
  for (const std::string& path : paths) {
    const Result<RecordedSteps> steps = read_recorded_steps(path);
    if (!steps) {
      log.warning(steps.error().message);
      continue;
    }
    for (const std::string& problem : steps->problems) log.warning(fmt::format("{}: {}", path, problem));
    for (size_t i = 0; i < policies.size(); ++i) all[i].outcomes.push_back(replay(*steps, path, policies[i]));
  }
  if (all.front().outcomes.empty()) {
    log.error("none of the files holds step records");
    return kExitNoInput;
  }
  return print(options.json ? as_json(all) : printable(as_text(all)), log);
}

}  // namespace

std::string replay_json(const ReplayOutcome& outcome) {
  return to_json(outcome).dump(-1, ' ', false, Json::error_handler_t::replace);
}

CLI::App* add_policy(CLI::App& app, PolicyOptions& options) {
  using Verb = PolicyOptions::Verb;
  CLI::App* command = app.add_subcommand("policy", "Show, check and try the policy by which live jobs are watched");
  command->require_subcommand(1);
  command->footer(kExamples);
  const auto add = [&](const char* name, const char* about, Verb verb) {
    CLI::App* added = command->add_subcommand(name, about);
    added->callback([&options, verb] { options.verb = verb; });
    return added;
  };
  add("show", "The default policy as TOML, each key explained", Verb::kShow);
  add("check", "Say what is wrong with a policy", Verb::kCheck)
      ->add_option("FILE", options.paths, "Policies, as TOML")
      ->required();
  CLI::App* replaying = add("replay", "When a policy would have spoken up on recorded jobs", Verb::kReplay);
  replaying->add_option("RECORDS", options.paths, "Files of step records, steps.json, or folders with such")
      ->required();
  replaying->add_option("--policy", options.policy, "A file, default or eroica; default: default")->type_name("POLICY");
  replaying->add_option("--against", options.against, "Another policy, to compare with")->type_name("POLICY");
  add_json_format(replaying, options.json);
  return command;
}

int run_policy(const PolicyOptions& options, Log& log) {
  switch (options.verb) {
    case PolicyOptions::Verb::kShow:
      return print(policy_toml(Policy{}), log);
    case PolicyOptions::Verb::kCheck:
      return check(options, log);
    case PolicyOptions::Verb::kReplay:
      return run_replay(options, log);
  }
  return kExitUsage;
}

}  // namespace eroica
