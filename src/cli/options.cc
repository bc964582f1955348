#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <map>
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
    "\n"
    "'eroica COMMAND --help' says more. Exit status: 0 nothing claimed, 1 something is wrong with the job,\n"
    "2 no input could be used, 64 wrong usage, 74 output could not be written.";

constexpr const char* kAnalyzeExamples =
    "PATH is a folder with traces (plain, .gz or .zst) or a bundle.json, a trace, or a pattern file.\n"
    "\n"
    "Examples:\n"
    "  eroica analyze traces/\n"
    "  eroica analyze rank0.json.gz rank1.json.gz --rank 1      the steps of rank 1\n"
    "  eroica analyze traces/ --function augment                all that is known of a function\n"
    "  eroica analyze traces/ --format json | jq .profile.time\n"
    "  eroica analyze traces/ --format html -o report.html      one file, opens without a network\n"
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

void add_input_options(CLI::App& command, InputOptions& input, bool with_marker) {
  command.add_option("PATH", input.paths, "Folders, traces or pattern files")->required();
  command.add_option("--rank-from", input.rank_from, "Read the rank off the path by the group in this expression")
      ->type_name("REGEX")
      ->group("Input");
  if (with_marker) {
    command
        .add_option("--step-marker", input.step_marker,
                    "Steps begin where this annotation or Python function does; NAME* matches a prefix")
        ->type_name("NAME")
        ->group("Input");
  }
  command.add_option("-j,--jobs", input.jobs, "At most this many traces in memory at once; default: one a core")
      ->type_name("N")
      ->check(CLI::Range(1, 4096))
      ->group("Input");
  auto* quiet = command.add_flag("-q,--quiet", input.quiet, "Errors only on stderr, and no progress");
  command.add_flag("-v,--verbose", input.verbose, "Say what is done")->excludes(quiet);
}

void add_ranks(CLI::App& command, std::vector<int32_t>& ranks, const char* what) {
  command.add_option("--rank", ranks, what)
      ->type_name("N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::NonNegativeNumber)
      ->group("Selection");
}

void add_analyze(CLI::App& command, AnalyzeOptions& options) {
  static const std::map<std::string, Format> kFormats{
      {"text", Format::kText}, {"json", Format::kJson}, {"html", Format::kHtml}};
  static const std::map<std::string, ColorMode> kColors{
      {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};
  add_input_options(command, options.input, true);
  command.add_option("--format", options.format, "text (default), json or html")
      ->type_name("FORMAT")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->group("Output");
  command.add_option("-o,--output", options.output, "Write to this file instead of standard output")
      ->type_name("FILE")
      ->group("Output");
  command.add_option("--color", options.color, "auto (default), always or never")
      ->type_name("WHEN")
      ->transform(CLI::CheckedTransformer(kColors).description(""))
      ->group("Output");
  add_ranks(command, options.ranks, "Only this rank, and its steps one by one; may be repeated");
  command
      .add_option("--function", options.function,
                  "All about the functions whose name or file holds NAME, or whose id it is")
      ->type_name("NAME")
      ->group("Selection");
  command.add_option("--top", options.top, "List this many functions; default: 20, in JSON and HTML 100; 0: all")
      ->type_name("K")
      ->check(CLI::NonNegativeNumber)
      ->group("Selection");
  command.footer(kAnalyzeExamples);
}

void add_summarize(CLI::App& command, SummarizeOptions& options) {
  add_input_options(command, options.input, true);
  command.add_option("-o,--output", options.folder, "Folder to write into; made where it is missing")
      ->type_name("FOLDER")
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
  command.add_option("-o,--output", options.output, "File to write; .gz is compressed")
      ->type_name("FILE")
      ->required()
      ->group("Output");
  add_ranks(command, options.ranks, "Only this rank; may be repeated");
  command.add_option("--from", options.from_ms, "Only what ends after this time, in ms since the window's start")
      ->type_name("MS")
      ->group("Selection");
  command.add_option("--to", options.to_ms, "Only what begins before this time, in ms since the window's start")
      ->type_name("MS")
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
  app.add_subcommand("version", "Print the version");
  add_analyze(*analyze_command, analyze);
  add_summarize(*summarize_command, summarize);
  add_export(*export_command, exporting, perfetto);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int status = app.exit(error, out, err);
    return Leave{status == 0 ? 0 : kExitUsage, out.str(), err.str()};
  }
  if (analyze_command->parsed()) return analyze;
  if (summarize_command->parsed()) return summarize;
  if (export_command->parsed()) return exporting;
  return Leave{0, "eroica " EROICA_VERSION "\n", ""};
}

}  // namespace eroica
