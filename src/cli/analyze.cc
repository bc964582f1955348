#include <fmt/format.h>
#include <langinfo.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "cli/commands.h"
#include "cli/conclude.h"
#include "cli/executor.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/rules_source.h"
#include "cli/stream.h"
#include "cli/timeline.h"
#include "compare/timeline_what_if.h"
#include "diagnose/timeline_conclusion.h"
#include "report/document.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"
#include "report/timeline_document.h"

namespace eroica {
namespace {

constexpr const char* kBaseline = "baseline";
constexpr size_t kTopInText = 20;
constexpr size_t kTopInDocuments = 100;

/// Set and not empty.
bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool wants_color(const AnalyzeOptions& options) {
  if (options.color != ColorMode::kAuto) return options.color == ColorMode::kAlways;
  return is_stdout(options.output) && isatty(STDOUT_FILENO) != 0 && !is_dumb_terminal() && !environment_has("NO_COLOR");
}

size_t width(const AnalyzeOptions& options, size_t usual) {
  winsize size{};
  if (!is_stdout(options.output) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual;
  return std::clamp<size_t>(size.ws_col, 60, usual);
}

/// What bundle.json names, with a trace or without.
std::vector<int32_t> ranks_listed(const InputSet& inputs) {
  std::vector<int32_t> ranks;
  for (const RankInput& input : inputs.ranks) {
    if (input.rank_source == RankSource::kBundle) ranks.push_back(input.rank);
  }
  return ranks;
}

DocumentOptions document_options(const AnalyzeOptions& options, const InputSet& inputs,
                                 std::vector<std::string> notes) {
  DocumentOptions result;
  result.ranks_listed = ranks_listed(inputs);
  result.ranks = options.ranks;
  result.function = options.function;
  result.notes = std::move(notes);
  result.top = options.top.value_or(options.format == Format::kText ? kTopInText : kTopInDocuments);
  if (result.top == 0) result.top = std::numeric_limits<size_t>::max();
  return result;
}

InputOptions for_baseline(const AnalyzeOptions& options) {
  InputOptions result = options.input;
  result.paths = {options.baseline};
  return result;
}

std::string written(const Document& document, const AnalyzeOptions& options) {
  switch (options.format) {
    case Format::kJson:
      return write_json(document);
    case Format::kHtml:
      return write_html(document);
    case Format::kText:
      break;
  }
  TextOptions text;
  text.style.color = wants_color(options);
  text.style.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  text.width = width(options, text.width);
  if (options.top) text.least_share = 0;
  return write_text(document, text);
}

/// Writes the document to where the options say and returns the exit status.
int deliver(const Result<Document>& document, const AnalyzeOptions& options, Log& log) {
  if (!document) {
    log.error(document.error().message);
    return kExitUsage;
  }
  const std::string bytes = written(*document, options);
  const Status status = is_stdout(options.output) ? write_stdout(bytes) : write_file(options.output, bytes);
  if (!status) {
    log.error(status.error().message);
    return kExitNoOutput;
  }
  return document->healthy ? kExitHealthy : kExitClaims;
}

/// The exit status with which to leave when the output cannot be written there.
std::optional<int> refuse_output(const AnalyzeOptions& options, const InputOptions& input, const InputSet& inputs,
                                 Log& log) {
  if (is_stdout(options.output)) return std::nullopt;
  if (!spares_inputs(options.output, inputs, input, log)) return kExitUsage;
  if (const std::string rules = same_file_among(options.output, files_of_rules(options.rules)); !rules.empty()) {
    log.error(fmt::format("{} holds rules; give another name for the output", rules));
    return kExitUsage;
  }
  if (const Status writable = check_writable(options.output); !writable) {
    log.error(writable.error().message);
    return kExitNoOutput;
  }
  return std::nullopt;
}

int analyze_timeline_file(const std::string& path, const AnalyzeOptions& options, const RuleSet& rules, Log& log) {
  if (options.method != Method::kFull || !options.baseline.empty()) {
    log.error(fmt::format("--method and --baseline are for traces; {} is an operation timeline", path));
    return kExitUsage;
  }
  InputSet inputs;
  inputs.pattern_paths.push_back(path);
  if (const auto status = refuse_output(options, options.input, inputs, log)) return *status;
  OrStatus<OpTimeline> read = load_timeline(path, log);
  if (const int* status = std::get_if<int>(&read)) return *status;
  const auto& timeline = std::get<OpTimeline>(read);
  std::vector<std::string> notes;
  if (timeline.first_bad_line > 0) {
    notes.push_back(fmt::format("{}: rows were passed over; the first is number {}: {}", path, timeline.first_bad_line,
                                timeline.first_bad));
    log.warning(notes.back());
  }
  const TimelineReport report = analyze_timeline(timeline);
  return deliver(
      build_timeline_document(timeline, report, job_of_timeline(path), document_options(options, {}, std::move(notes)),
                              conclude_timeline(timeline, report, rules.rules)),
      options, log);
}

/// Ranks whose whole patterns the document should tell of: those that are asked for, to blame or missing.
std::vector<int32_t> ranks_to_show(const Conclusion& conclusion, const std::vector<int32_t>& asked) {
  constexpr size_t kMostOfOne = 16;
  std::vector<int32_t> ranks = asked;
  const auto add = [&](const std::vector<int32_t>& more) {
    ranks.insert(ranks.end(), more.begin(), more.begin() + static_cast<ptrdiff_t>(std::min(more.size(), kMostOfOne)));
  };
  if (conclusion.blocked) add(conclusion.blocked->missing);
  for (const Diagnosis& claim : conclusion.diagnoses) add(claim.ranks);
  for (const Diagnosis& hint : conclusion.hints) add(hint.ranks);
  return ranks;
}

/// A job of so many ranks that their patterns are not kept.
int analyze_streamed(const InputSet& inputs, const Collected* baseline, const AnalyzeOptions& options,
                     const RuleSet& rules, Log& log) {
  ThreadExecutor executor(options.input.jobs == 0 ? available_cores() : options.input.jobs);
  const std::unique_ptr<ProgressSink> progress = terminal_progress(options.input.quiet);
  Result<StreamedJob> streamed = stream_patterns(inputs, executor, *progress);
  if (!streamed) {
    log.error(streamed.error().message);
    return kExitNoInput;
  }
  for (const std::string& note : streamed->notes) log.warning(note);
  Conclusion conclusion = conclude(streamed->job, streamed->names, baseline, rules.rules);
  streamed->job = {};
  add_to_sample(*streamed, inputs, ranks_to_show(conclusion, options.ranks), executor);
  std::vector<std::string> notes = std::move(streamed->notes);
  if (baseline != nullptr) notes.insert(notes.end(), baseline->notes.begin(), baseline->notes.end());
  DocumentOptions document = document_options(options, inputs, std::move(notes));
  document.whole = std::move(streamed->whole);
  return deliver(build_document(streamed->sample, streamed->names, document, std::move(conclusion)), options, log);
}

/// What one file's reading gives back the next one's takes; to fetch it anew from the kernel takes a twentieth of the
/// time of reading patterns.
void keep_freed_memory() {
  constexpr int kMostGlibcTakes = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kMostGlibcTakes);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

int run_analyze(const AnalyzeOptions& options, Log& log) {
  keep_freed_memory();
  if (options.method != Method::kFull && !options.baseline.empty()) {
    log.error("only --method full compares with a --baseline");
    return kExitUsage;
  }
  const Result<RuleSet> rules = load_rules(options.rules);
  if (!rules) {
    log.error(rules.error().message);
    return kExitUsage;
  }
  for (const FileProblem& problem : rules->problems) log.warning(in_words(problem));
  OrStatus<std::string> timeline = find_timeline(options.input, log);
  if (const int* status = std::get_if<int>(&timeline)) return *status;
  if (const auto& path = std::get<std::string>(timeline); !path.empty()) {
    return analyze_timeline_file(path, options, *rules, log);
  }
  OrStatus<InputSet> inputs = find_inputs(options.input, log);
  if (const int* status = std::get_if<int>(&inputs)) return *status;
  std::optional<InputSet> baseline_inputs;
  const InputOptions baseline_options = for_baseline(options);
  if (!options.baseline.empty()) {
    OrStatus<InputSet> found = find_inputs(baseline_options, log, kBaseline);
    if (const int* status = std::get_if<int>(&found)) return *status;
    baseline_inputs = std::move(std::get<InputSet>(found));
  }
  if (const auto status = refuse_output(options, options.input, std::get<InputSet>(inputs), log)) return *status;
  if (baseline_inputs) {
    if (const auto status = refuse_output(options, baseline_options, *baseline_inputs, log)) return *status;
  }
  std::optional<Collected> baseline;
  if (baseline_inputs) {
    OrStatus<Collected> earlier = read_inputs(*baseline_inputs, baseline_options, log, kBaseline);
    if (const int* status = std::get_if<int>(&earlier)) return *status;
    baseline = std::move(std::get<Collected>(earlier));
  }
  if (options.method == Method::kFull && is_streamed(std::get<InputSet>(inputs))) {
    return analyze_streamed(std::get<InputSet>(inputs), baseline ? &*baseline : nullptr, options, *rules, log);
  }
  OrStatus<Collected> read = read_inputs(std::get<InputSet>(inputs), options.input, log);
  if (const int* status = std::get_if<int>(&read)) return *status;
  auto& collected = std::get<Collected>(read);
  if (baseline) collected.notes.insert(collected.notes.end(), baseline->notes.begin(), baseline->notes.end());

  Conclusion conclusion = conclude(collected, baseline ? &*baseline : nullptr, rules->rules, options.method);
  return deliver(build_document(collected.patterns, collected.names,
                                document_options(options, std::get<InputSet>(inputs), std::move(collected.notes)),
                                std::move(conclusion)),
                 options, log);
}

}  // namespace eroica
