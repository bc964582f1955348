#include "cli/text_or_json.h"

#include <CLI/CLI.hpp>

#include "cli/logging.h"
#include "cli/options.h"
#include "cli/output.h"

namespace eroica {

void add_json_format(CLI::App* command, bool& json) {
  command
      ->add_option_function<std::string>(
          "--format",
          [&json](const std::string& format) {
            if (format != "text" && format != "json") throw CLI::ValidationError("--format", "expected text or json");
            json = format == "json";
          },
          "text (default) or json")
      ->type_name("FORMAT");
}

int print(const std::string& text, Log& log) {
  const Status status = write_stdout(text);
  if (!status) log.error(status.error().message);
  return status ? 0 : kExitNoOutput;
}

}  // namespace eroica
