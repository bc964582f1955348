#pragma once

#include <optional>
#include <string>

#include "cli/server_client.h"

namespace CLI {
class App;
}

namespace eroica {

class Log;
struct ServiceLinkOptions;
struct WatchedJobOptions;

/// How jobs are watched: what `eroica run` and `eroica agent` have in common.
struct WatchCommand {
  std::string policy;              ///< a file; empty: the default one
  bool watch_only = false;         ///< no windows
  std::optional<double> window_s;  ///< length; absent: about ten steps
  std::string json;                ///< diagnoses are appended to this file
  std::string keep;                ///< windows are kept in this folder
  ServerAccess server;             ///< is told of jobs; no URL: none is
};

/// Adds its options. `keep`: what is said of --keep.
void add_watch_options(CLI::App* command, WatchCommand& options, const char* keep);
/// Fills in all but who watches, and `append`. Where that cannot be, says why; 0, or the exit status.
int prepare_watch(const WatchCommand& options, WatchedJobOptions& watch, Log& log);
/// How to reach the server that is to be told; nullopt: none is. prepare_watch() has checked it.
std::optional<ServiceLinkOptions> link_of(const WatchCommand& options);

}  // namespace eroica
