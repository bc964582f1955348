#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace eroica {

class Log;

struct ServeOptions {
  std::string listen = "127.0.0.1:7430";
  std::string store;  ///< file; empty: eroica.db in the folder for the user's data
  double keep_days = 90;
  double keep_gib = 4;
  std::vector<std::string> webhooks;
  std::string webhook_secret_file;
  std::string alertmanager;
};

/// Declares `eroica serve`.
CLI::App* add_serve(CLI::App& app, ServeOptions& options);
/// Until SIGTERM or SIGINT.
int run_serve(const ServeOptions& options, Log& log);

struct TokenOptions {
  enum class Verb { kAdd, kList, kRemove };
  Verb verb = Verb::kList;
  std::string store;
  std::string name;
  std::string role = "viewer";
  std::string tenant;
  double days = 0;  ///< that it holds; 0: for ever
  bool json = false;
};

/// Declares `eroica token` and its verbs.
CLI::App* add_token(CLI::App& app, TokenOptions& options);
int run_token(const TokenOptions& options, Log& log);

/// The store's file where none is named.
std::string default_store();

}  // namespace eroica
