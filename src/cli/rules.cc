#include "cli/rules.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/logging.h"
#include "cli/options.h"
#include "cli/rule_signals.h"
#include "cli/rules_source.h"
#include "cli/text_or_json.h"
#include "diagnose/nearest_word.h"
#include "diagnose/rule_words.h"
#include "diagnose/standard_rules.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExamples =
    "Rules say when a cause is claimed (docs/rules.md). Your own have ids that begin with 'site.'.\n"
    "\n"
    "Examples:\n"
    "  eroica rules list                             every cause, the facts that its rule looks at, and which signals\n"
    "                                                this host cannot supply\n"
    "  eroica rules explain gpu.thermal_throttle     what is required, what speaks for and against it\n"
    "  eroica rules check /etc/eroica/rules/         before they are used with 'eroica analyze --rules'\n"
    "\n"
    "Exit status of check: 0 the rules are fine, 1 they have problems, 64 wrong usage.";

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json to_json(const EvidenceRule& evidence) {
  Json json = {{"need", need_name(evidence.need)}, {"fact", evidence.fact}, {"holds", evidence_in_words(evidence)}};
  if (!evidence.says.empty()) json["says"] = evidence.says;
  json["weight"] = evidence.weight;
  return json;
}

Json to_json(const Rule& rule) {
  Json affects = Json::array();
  for (const TimeClass one : rule.affects) affects.push_back(time_class_name(one));
  Json evidence = Json::array();
  for (const EvidenceRule& one : rule.evidence) evidence.push_back(to_json(one));
  return {{"cause", rule.cause},
          {"title", rule.title},
          {"explain", rule.explain},
          {"subject", subject_name(rule.subject)},
          {"also_all", rule.also_all},
          {"scope", scope_name(rule.scope)},
          {"component", rule.component},
          {"affects", std::move(affects)},
          {"evidence", std::move(evidence)},
          {"yields_to", rule.yields_to},
          {"prior", rule.prior},
          {"least_effect", rule.least_effect},
          {"action", rule.action},
          {"file", rule.file},
          {"line", rule.line}};
}

int check(const RulesOptions& options, Log& log) {
  Result<RuleSet> rules = options.paths.empty() ? load_rules({}) : read_rules(options.paths);
  if (!rules) {
    log.error(rules.error().message);
    return kExitUsage;
  }
  RuleSet loaded = standard_rules();
  merge_rules(loaded, *rules);
  std::ranges::move(idle_yields(*rules, loaded), std::back_inserter(rules->problems));
  std::string text;
  for (const FileProblem& problem : rules->problems) text += printable(in_words(problem)) + "\n";
  text += rules->problems.empty()
              ? fmt::format("{} rules, no problems\n", rules->rules.size())
              : fmt::format("{} problems; {} rules are fine\n", rules->problems.size(), rules->rules.size());
  const int status = print(text, log);
  return status != 0 ? status : rules->problems.empty() ? 0 : 1;
}

int list(const RuleSet& rules, bool json, Log& log) {
  const SignalSupply supply = host_signal_supply();
  if (json) {
    Json all = Json::array();
    for (const Rule& rule : rules.rules) {
      Json signals = Json::array();
      for (const RuleSignal& signal : signals_of(rule, supply)) {
        signals.push_back({{"name", signal.metric}, {"supplied", signal.state.why.empty()}});
        if (!signal.state.why.empty()) signals.back()["why"] = signal.state.why;
      }
      all.push_back(
          {{"cause", rule.cause}, {"title", rule.title}, {"facts", facts_of(rule)}, {"signals", std::move(signals)}});
    }
    return print(dumped({{"rules", std::move(all)}}), log);
  }
  size_t width = 0;
  for (const Rule& rule : rules.rules) width = std::max(width, rule.cause.size());
  std::string text;
  const auto add_line = [&](std::string_view front, std::string_view line) {
    text += fmt::format("{:{}}  {}\n", front, width, line);
  };
  for (const Rule& rule : rules.rules) {
    add_line(rule.cause, printable(rule.title));
    add_line("", fmt::format("{}", fmt::join(facts_of(rule), ", ")));
    std::vector<std::string> absent;
    for (const RuleSignal& signal : signals_of(rule, supply)) {
      if (!signal.state.why.empty()) absent.push_back(fmt::format("{} ({})", signal.metric, signal.state.why));
    }
    if (!absent.empty()) add_line("", fmt::format("not on this host: {}", fmt::join(absent, ", ")));
  }
  return print(text, log);
}

int explain(const RuleSet& rules, const RulesOptions& options, Log& log) {
  const auto rule = std::ranges::find(rules.rules, options.cause, &Rule::cause);
  if (rule != rules.rules.end()) {
    return print(options.json ? dumped(to_json(*rule)) : printable(rule_in_words(*rule)), log);
  }
  std::vector<std::string_view> causes;
  causes.reserve(rules.rules.size());
  for (const Rule& one : rules.rules) causes.push_back(one.cause);
  const std::string_view near = nearest_word(options.cause, causes);
  log.error(fmt::format("there is no rule for '{}'; {}", options.cause,
                        near.empty() ? "'eroica rules list' names all" : fmt::format("did you mean {}?", near)));
  return kExitUsage;
}

}  // namespace

CLI::App* add_rules(CLI::App& app, RulesOptions& options) {
  using Verb = RulesOptions::Verb;
  CLI::App* command = app.add_subcommand("rules", "Check, list and explain the rules that name causes");
  command->require_subcommand(1);
  command->footer(kExamples);
  const auto add = [&](const char* name, const char* about, Verb verb) {
    CLI::App* added = command->add_subcommand(name, about);
    added->callback([&options, verb] { options.verb = verb; });
    return added;
  };
  const auto add_extra = [&](CLI::App* verb) {
    verb->add_option("--rules", options.extra, "Also the rules of this folder or file; may be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false);
    add_json_format(verb, options.json);
  };
  add("check", "Say what is wrong with rule files", Verb::kCheck)
      ->add_option("PATH", options.paths, "Files or folders; default: the rules that eroica brings along");
  add_extra(add("list", "All causes, and the facts that their rules look at", Verb::kList));
  CLI::App* explaining = add("explain", "All about one rule, in words", Verb::kExplain);
  explaining->add_option("ID", options.cause, "A cause, as in gpu.thermal_throttle")->required();
  add_extra(explaining);
  return command;
}

int run_rules(const RulesOptions& options, Log& log) {
  if (options.verb == RulesOptions::Verb::kCheck) return check(options, log);
  const Result<RuleSet> rules = load_rules(options.extra);
  if (!rules) {
    log.error(rules.error().message);
    return kExitUsage;
  }
  for (const FileProblem& problem : rules->problems) log.warning(in_words(problem));
  return options.verb == RulesOptions::Verb::kList ? list(*rules, options.json, log) : explain(*rules, options, log);
}

}  // namespace eroica
