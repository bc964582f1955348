#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace eroica {

enum class LogLevel { kQuiet, kNormal, kVerbose };

/// A message as a terminal may see it: what it quotes of paths, names and arguments cannot steer the terminal.
std::string printable(std::string_view message);

/// Messages for the person at the terminal, on stderr: errors always, warnings unless quiet, the rest when verbose.
class Log {
 public:
  explicit Log(LogLevel level);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  void error(std::string_view message);
  void warning(std::string_view message);
  void info(std::string_view message);

 private:
  struct Backend;
  std::unique_ptr<Backend> backend_;
};

}  // namespace eroica
