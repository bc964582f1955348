#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "report/document.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

namespace eroica {
namespace {

constexpr size_t kTopInText = 20;
constexpr size_t kTopInDocuments = 100;

bool to_stdout(const AnalyzeOptions& options) { return options.output.empty() || options.output == "-"; }

/// Set and not empty.
bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool wants_color(const AnalyzeOptions& options) {
  if (options.color != ColorMode::kAuto) return options.color == ColorMode::kAlways;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return to_stdout(options) && isatty(STDOUT_FILENO) != 0 && !dumb && !environment_has("NO_COLOR");
}

size_t width(const AnalyzeOptions& options, size_t usual) {
  winsize size{};
  if (!to_stdout(options) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual;
  return std::clamp<size_t>(size.ws_col, 60, usual);
}

DocumentOptions document_options(const AnalyzeOptions& options, std::vector<std::string> notes) {
  DocumentOptions result;
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
  OrStatus<InputSet> inputs = find_inputs(options.input, log);
  if (const int* status = std::get_if<int>(&inputs)) return *status;
  if (!to_stdout(options)) {
    if (!spares_inputs(options.output, std::get<InputSet>(inputs), options.input, log)) return kExitUsage;
    if (const Status writable = check_writable(options.output); !writable) {
      log.error(writable.error().message);
      return kExitNoOutput;
    }
  }
  OrStatus<Collected> read = read_inputs(std::get<InputSet>(inputs), options.input, log);
  if (const int* status = std::get_if<int>(&read)) return *status;
  auto& collected = std::get<Collected>(read);

  const Result<Document> document =
      build_document(collected.patterns, collected.names, document_options(options, std::move(collected.notes)));
  if (!document) {
    log.error(document.error().message);
    return kExitUsage;
  }
  const std::string bytes = written(*document, options);
  const Status status = to_stdout(options) ? write_stdout(bytes) : write_file(options.output, bytes);
  if (!status) {
    log.error(status.error().message);
    return kExitNoOutput;
  }
  return document->healthy ? kExitHealthy : kExitClaims;
}

}  // namespace eroica
