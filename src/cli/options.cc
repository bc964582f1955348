#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>

namespace eroica {
namespace {

constexpr const char* kAbout =
    "eroica finds out where the time of a distributed training job goes.\n"
    "It reads the Kineto traces that torch.profiler writes, one a rank.";

constexpr const char* kExamples =
    "Examples:\n"
    "  eroica analyze traces/                     where each rank's step time goes\n"
    "  eroica analyze traces/ --format html -o report.html\n"
    "  eroica summarize traces/ -o patterns/      at most 30 KB a rank, to keep or to send\n"
    "  eroica export --perfetto traces/ -o merged.json.gz\n"
    "  eroica run -- torchrun train.py            watch a job, and say why it is slow while it runs\n"
    "\n"
    "'eroica COMMAND --help' says more. Exit status: 0 nothing claimed, 1 something is wrong with the job,\n"
    "2 no input could be used, 64 wrong usage, 74 output could not be written.";

constexpr const char* kAnalyzeExamples =
    "PATH is a folder with traces (plain, .gz or .zst) or a bundle.json, a trace, a pattern file, or a single\n"
    "timeline of a pipeline-parallel job's operations (CSV or JSON).\n"
    "\n"
    "Examples:\n"
    "  eroica analyze traces/\n"
    "  eroica analyze rank0.json.gz rank1.json.gz --rank 1      the steps of rank 1\n"
    "  eroica analyze traces/ --function augment                all that is known of a function\n"
    "  eroica analyze traces/ --format json | jq .profile.time\n"
    "  eroica analyze traces/ --format html -o report.html      one file, opens without a network\n"
    "  eroica analyze traces/ --baseline yesterday/              what became slower since then\n"
    "  eroica analyze ops.csv                                    which stage or worker holds a pipeline up\n"
    "  eroica analyze traces/ --rank-from 'node\\d+-worker(\\d+)' --step-marker 'train_step*'";

constexpr const char* kSummarizeExamples =
    "Writes rankN.eroica, at most 30 KB each, and names.eroica. 'eroica analyze' takes the folder in\n"
    "place of the traces.\n"
    "\n"
    "Examples:\n"
    "  eroica summarize traces/ -o patterns/\n"
    "  eroica summarize /scratch/job7/*.json.gz -o patterns/ --pack     one file a host";

constexpr const char* kExportExamples =
    "The ranks' clocks are aligned by the ends of their collectives. Times count from the window's start.\n"
    "\n"
    "Examples:\n"
    "  eroica export --perfetto traces/ -o merged.json.gz\n"
    "  eroica export --perfetto traces/ --rank 0,2 --from 500 --to 900 -o part.json.gz";

/// Errors quote arguments, which may hold anything.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

template <typename Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

CLI::Validator whole_number(int64_t least, int64_t most = std::numeric_limits<int32_t>::max()) {
  const auto check = [=](const std::string& text) -> std::string {
    int64_t number = 0;
    if (read_number(text, number) && number >= least && number <= most) return "";
    if (most == std::numeric_limits<int32_t>::max()) return fmt::format("expected a whole number from {}", least);
    return fmt::format("expected a whole number from {} to {}", least, most);
  };
  return {check, ""};
}

CLI::Validator milliseconds() {
  const auto check = [](const std::string& text) -> std::string {
    double number = 0;
    return read_number(text, number) && std::isfinite(number) ? "" : "expected a number of milliseconds";
  };
  return {check, ""};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) -> std::string { return text.empty() ? "must not be empty" : ""; };
  return {check, ""};
}

/// An option that takes one of several words.
template <typename Value, size_t N>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Value& value,
                        std::array<std::pair<std::string_view, Value>, N> choices, const std::string& help) {
  const auto choose = [=, &value](const std::string& text) {
    for (const auto& [word, meaning] : choices) {
      if (text == word) {
        value = meaning;
        return;
      }
    }
    std::string words(choices[0].first);
    for (size_t i = 1; i < N; ++i) words += fmt::format("{}{}", i + 1 < N ? ", " : " or ", choices[i].first);
    throw CLI::ValidationError(name, fmt::format("expected {}, not '{}'", words, text));
  };
  return command.add_option_function<std::string>(name, choose, help);
}

void add_input_options(CLI::App& command, InputOptions& input, bool with_marker) {
  command.add_option("PATH", input.paths, "Folders, traces or pattern files")->required()->check(not_empty());
  command.add_option("--rank-from", input.rank_from, "Read the rank off the path by the group in this expression")
      ->type_name("REGEX")
      ->check(not_empty())
      ->group("Input");
  if (with_marker) {
    command
        .add_option("--step-marker", input.step_marker,
                    "Steps begin where this annotation or Python function does; NAME* matches a prefix")
        ->type_name("NAME")
        ->check(not_empty())
        ->group("Input");
  }
  command.add_option("-j,--jobs", input.jobs, "At most this many traces in memory at once; default: one a core")
      ->type_name("N")
      ->check(whole_number(1, 4096))
      ->group("Input");
  auto* quiet = command.add_flag("-q,--quiet", input.quiet, "Errors only on stderr, and no progress");
  command.add_flag("-v,--verbose", input.verbose, "Say what is done")->excludes(quiet);
}

void add_ranks(CLI::App& command, std::vector<int32_t>& ranks, const char* what) {
  command.add_option("--rank", ranks, what)
      ->type_name("N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number(0))
      ->group("Selection");
}

void add_analyze(CLI::App& command, AnalyzeOptions& options) {
  add_input_options(command, options.input, true);
  add_choice<Format, 3>(command, "--format", options.format,
                        {{{"text", Format::kText}, {"json", Format::kJson}, {"html", Format::kHtml}}},
                        "text (default), json or html")
      ->type_name("FORMAT")
      ->group("Output");
  command.add_option("-o,--output", options.output, "Write to this file instead of standard output")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Output");
  add_choice<ColorMode, 3>(command, "--color", options.color,
                           {{{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}}},
                           "auto (default), always or never")
      ->type_name("WHEN")
      ->group("Output");
  add_ranks(command, options.ranks, "Only this rank, and its steps one by one; may be repeated");
  command
      .add_option("--function", options.function,
                  "All about the functions whose name or file holds NAME, or whose id it is")
      ->type_name("NAME")
      ->check(not_empty())
      ->group("Selection");
  command.add_option("--top", options.top, "List this many functions; default: 20, in JSON and HTML 100; 0: all")
      ->type_name("K")
      ->check(whole_number(0))
      ->group("Selection");
  command.add_option("--rules", options.rules, "Also the rules of this folder or file; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->check(not_empty())
      ->group("Diagnosis");
  command.add_option("--baseline", options.baseline, "Compare with this earlier, healthy window of the job")
      ->type_name("PATH")
      ->check(not_empty())
      ->group("Diagnosis");
  add_choice<Method, 4>(command, "--method", options.method,
                        {{{"full", Method::kFull},
                          {"eroica", Method::kEroica},
                          {"largest-total", Method::kLargestTotal},
                          {"longest-collective", Method::kLongestCollective}}},
                        "full (default); eroica, largest-total or longest-collective: simpler ones to compare with")
      ->type_name("METHOD")
      ->group("Diagnosis");
  command.footer(kAnalyzeExamples);
}

void add_summarize(CLI::App& command, SummarizeOptions& options) {
  add_input_options(command, options.input, true);
  command.add_option("-o,--output", options.folder, "Folder to write into; made where it is missing")
      ->type_name("FOLDER")
      ->check(not_empty())
      ->required()
      ->group("Output");
  command.add_flag("--pack", options.pack, "One file a host, with all its ranks and the names")->group("Output");
  command.footer(kSummarizeExamples);
}

void add_export(CLI::App& command, ExportOptions& options, bool& perfetto) {
  add_input_options(command, options.input, false);
  command.add_flag("--perfetto", perfetto, "As one merged trace that ui.perfetto.dev opens")
      ->required()
      ->group("Output");
  command.add_option("-o,--output", options.output, "File to write; .gz is compressed; - is standard output")
      ->type_name("FILE")
      ->check(not_empty())
      ->required()
      ->group("Output");
  add_ranks(command, options.ranks, "Only this rank; may be repeated");
  command.add_option("--from", options.from_ms, "Only what ends after this time, in ms since the window's start")
      ->type_name("MS")
      ->check(milliseconds())
      ->group("Selection");
  command.add_option("--to", options.to_ms, "Only what begins before this time, in ms since the window's start")
      ->type_name("MS")
      ->check(milliseconds())
      ->group("Selection");
  command.footer(kExportExamples);
}

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  CLI::App app(kAbout, "eroica");
  app.footer(kExamples);
  app.set_version_flag("-V,--version", "eroica " EROICA_VERSION);
  app.require_subcommand(1);

  AnalyzeOptions analyze;
  SummarizeOptions summarize;
  ExportOptions exporting;
  bool perfetto = false;
  CLI::App* analyze_command = app.add_subcommand("analyze", "Show where the time goes");
  CLI::App* summarize_command = app.add_subcommand("summarize", "Reduce each rank's trace to a small pattern file");
  CLI::App* export_command = app.add_subcommand("export", "Write a merged trace for a trace viewer");
  SimulateOptions simulate;
  const CLI::App* simulate_command = add_simulate(app, simulate);
  RulesOptions rules;
  const CLI::App* rules_command = add_rules(app, rules);
  PolicyOptions policy;
  const CLI::App* policy_command = add_policy(app, policy);
  RunOptions run;
  const CLI::App* run_command = add_run(app, run);
  AgentOptions agent;
  const CLI::App* agent_command = add_agent(app, agent);
  EnvOptions env;
  const CLI::App* env_command = add_env(app, env);
  DoctorOptions doctor;
  const CLI::App* doctor_command = add_doctor(app, doctor);
  StatusOptions status;
  const CLI::App* status_command = add_status(app, status);
  TriggerOptions trigger;
  const CLI::App* trigger_command = add_trigger(app, trigger);
  ServeOptions serve;
  const CLI::App* serve_command = add_serve(app, serve);
  TokenOptions token;
  const CLI::App* token_command = add_token(app, token);
  ServerQuery query;
  const ServerCommands query_commands = add_server_commands(app, query);
  app.add_subcommand("version", "Print the version");
  add_analyze(*analyze_command, analyze);
  add_summarize(*summarize_command, summarize);
  add_export(*export_command, exporting, perfetto);

  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("eroica: error: {}\n'eroica --help' and 'eroica COMMAND --help' say more.\n",
                       one_line(error.what()));
  });
  if (argc > 1 && argv[1][0] != '-') {
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands(nullptr)) commands.push_back(command->get_name());
    if (std::ranges::find(commands, argv[1]) == commands.end()) {
      return Leave{kExitUsage, "",
                   fmt::format("eroica: error: there is no command '{}'; there are: {}\n", one_line(argv[1]),
                               fmt::join(commands, ", "))};
    }
  }

  // What is run is none of our arguments, whatever it looks like.
  if (argc > 1 && std::string_view(argv[1]) == run_command->get_name()) {
    for (int i = 2; i < argc; ++i) {
      if (std::string_view(argv[i]) != "--") continue;
      run.command.assign(argv + i + 1, argv + argc);
      argc = i;
    }
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const bool asked = app.exit(error, out, err) == 0;
    return Leave{asked ? 0 : kExitUsage, out.str(), err.str()};
  }
  if (analyze_command->parsed()) return analyze;
  if (summarize_command->parsed()) return summarize;
  if (export_command->parsed()) return exporting;
  if (simulate_command->parsed()) return simulate;
  if (rules_command->parsed()) return rules;
  if (policy_command->parsed()) return policy;
  if (agent_command->parsed()) return agent;
  if (doctor_command->parsed()) return doctor;
  if (env_command->parsed()) return env;
  if (status_command->parsed()) return status;
  if (trigger_command->parsed()) return trigger;
  if (serve_command->parsed()) return serve;
  if (token_command->parsed()) return token;
  if (query_commands.parsed()) return query;
  if (run_command->parsed()) {
    if (!run.command.empty()) return run;
    return Leave{kExitUsage, "", "eroica: error: nothing to run; expected 'eroica run [OPTIONS] -- COMMAND'\n"};
  }
  return Leave{0, "eroica " EROICA_VERSION "\n", ""};
}

}  // namespace eroica
