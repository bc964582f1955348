#pragma once

#include <string>

namespace CLI {
class App;
}

namespace eroica {

class Log;

/// Adds `--format text|json` to a command.
void add_json_format(CLI::App* command, bool& json);

/// To standard output. Gives the exit status: 0, or that of an output that cannot be written, which is logged.
int print(const std::string& text, Log& log);

}  // namespace eroica
