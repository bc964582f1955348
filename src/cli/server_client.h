#pragma once

#include <string>

namespace CLI {
class App;
}

namespace eroica {

class Log;

/// Which server, and what for it to know us by. Also taken from EROICA_SERVER and EROICA_TOKEN.
struct ServerAccess {
  std::string url;
  std::string token;
  std::string token_file;
};
/// Adds --server, --token and --token-file.
void add_server_options(CLI::App* command, ServerAccess& access);

/// `eroica jobs`, `incidents`, `show`, `changes`, `feedback` and `report`: what a server knows.
struct ServerQuery {
  enum class Kind { kJobs, kIncidents, kShow, kChanges, kFeedback, kReport };
  Kind kind = Kind::kJobs;
  ServerAccess access;
  bool json = false;
  std::string job;       ///< incidents: of this one
  bool all = false;      ///< incidents: closed ones too
  std::string incident;  ///< show, feedback
  std::string what;      ///< changes: a new one
  std::string who;
  std::string for_jobs;
  std::string url;
  std::string against;
  std::string verdict;  ///< feedback
  std::string cause;
  std::string text;
  double days = 30;  ///< changes and report
  bool csv = false;
};

struct ServerCommands {
  CLI::App* jobs = nullptr;
  CLI::App* incidents = nullptr;
  CLI::App* show = nullptr;
  CLI::App* changes = nullptr;
  CLI::App* feedback = nullptr;
  CLI::App* report = nullptr;
  [[nodiscard]] bool parsed() const;
};
/// Declares them all.
ServerCommands add_server_commands(CLI::App& app, ServerQuery& query);
int run_server_query(const ServerQuery& query, Log& log);

}  // namespace eroica
