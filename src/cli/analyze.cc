#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "cli/commands.h"
#include "cli/conclude.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/rules_source.h"
#include "report/document.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

namespace eroica {
namespace {

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

}  // namespace

int run_analyze(const AnalyzeOptions& options, Log& log) {
  const Result<RuleSet> rules = load_rules(options.rules);
  if (!rules) {
    log.error(rules.error().message);
    return kExitUsage;
  }
  for (const RuleProblem& problem : rules->problems) log.warning(in_words(problem));
  OrStatus<InputSet> inputs = find_inputs(options.input, log);
  if (const int* status = std::get_if<int>(&inputs)) return *status;
  if (!is_stdout(options.output)) {
    if (!spares_inputs(options.output, std::get<InputSet>(inputs), options.input, log)) return kExitUsage;
    if (const Status writable = check_writable(options.output); !writable) {
      log.error(writable.error().message);
      return kExitNoOutput;
    }
  }
  OrStatus<Collected> read = read_inputs(std::get<InputSet>(inputs), options.input, log);
  if (const int* status = std::get_if<int>(&read)) return *status;
  auto& collected = std::get<Collected>(read);

  Conclusion conclusion = conclude(collected, nullptr, rules->rules);
  const Result<Document> document =
      build_document(collected.patterns, collected.names,
                     document_options(options, std::get<InputSet>(inputs), std::move(collected.notes)),
                     std::move(conclusion));
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

}  // namespace eroica
