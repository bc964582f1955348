#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace eroica {

/// The folders of one job, 0700 and ours: sockets in one, traces in the other. They go with this object, and those of
/// processes that died go when the next one comes.
class JobFolder {
 public:
  /// Where the sockets' folder may lie: XDG_RUNTIME_DIR where it is short enough, else /tmp. Traces are below /tmp, as
  /// Kineto wants them. Error kWrite.
  static Result<JobFolder> make(const std::string& runtime_dir);
  JobFolder(JobFolder&& other) noexcept;
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  JobFolder& operator=(JobFolder&&) = delete;
  ~JobFolder();

  [[nodiscard]] const std::string& sockets() const { return sockets_.path; }
  [[nodiscard]] const std::string& traces() const { return traces_.path; }
  [[nodiscard]] std::string probe_socket() const { return sockets_.path + "/probe"; }
  [[nodiscard]] std::string kineto_socket() const { return sockets_.path + "/dynolog"; }
  [[nodiscard]] std::string kineto_config() const { return sockets_.path + "/kineto.conf"; }

 private:
  /// Locked as long as it is in use.
  struct Folder {
    std::string path;
    int lock = -1;
  };
  JobFolder(Folder sockets, Folder traces) : sockets_(std::move(sockets)), traces_(std::move(traces)) {}
  static Result<Folder> make_in(const std::string& base);
  static void remove(Folder& folder);

  Folder sockets_;
  Folder traces_;
};

/// A variable's value, or nullptr.
using Environment = std::function<const char*(const char* name)>;

struct JobVariables {
  std::string job;
  std::string sockets;
  std::string traces;
  std::string kineto_config;
  std::string probe_dir;  ///< holds site/sitecustomize.py
  bool profiling = true;  ///< false: windows are never taken, so Kineto is left alone
};

/// What is to be set in the environment of the job's processes. `now`: the environment that they would have.
std::vector<std::pair<std::string, std::string>> job_environment(const JobVariables& variables, const Environment& now);

/// Kineto's configuration file: the user's, and a poll every second. `users`: its text.
std::string kineto_config_text(const std::string& users);

}  // namespace eroica
