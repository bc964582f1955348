#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/job_note.h"
#include "base/result.h"

namespace eroica {

/// A variable's value, or nullptr.
using Environment = std::function<const char*(const char* name)>;

/// Where the folders of jobs may lie: EROICA_JOBS_DIR alone where that is set, else XDG_RUNTIME_DIR where it is short
/// enough, and /tmp. Never empty.
std::vector<std::string> job_bases(const Environment& now);

/// What lies where in a job's folder of sockets.
std::string control_socket_in(const std::string& sockets);
std::string kineto_config_in(const std::string& sockets);
/// Of a job that waits for an agent.
std::string traces_in(const std::string& sockets);

/// The folders of one job, 0700 and ours: sockets in one, traces in the other. Locked as long as this object lives, so
/// that one watcher at a time has them.
class JobFolder {
 public:
  /// New ones, that go with this object. Those of processes that died go when the next one comes. `kineto_config`: text
  /// of Kineto's configuration file. Error kWrite.
  static Result<JobFolder> make(const std::vector<std::string>& bases, JobNote note, std::string kineto_config);
  /// Those that open_job_folder() made; they stay. Errors: kNotFound when they are gone or none of ours, kAmbiguous
  /// when another watcher has them, kWrite.
  static Result<JobFolder> adopt(const std::string& path);
  JobFolder(JobFolder&& other) noexcept;
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  JobFolder& operator=(JobFolder&&) = delete;
  ~JobFolder();

  [[nodiscard]] const JobNote& note() const { return note_; }
  [[nodiscard]] const std::string& sockets() const { return sockets_.path; }
  [[nodiscard]] const std::string& traces() const { return traces_.path; }
  [[nodiscard]] std::string probe_socket() const { return sockets_.path + "/probe"; }
  [[nodiscard]] std::string kineto_socket() const { return sockets_.path + "/dynolog"; }
  [[nodiscard]] std::string control_socket() const { return control_socket_in(sockets_.path); }
  [[nodiscard]] std::string kineto_config() const { return kineto_config_in(sockets_.path); }

  /// Makes again what somebody has removed, but for sockets. Error kWrite.
  Status repair();

 private:
  struct Folder {
    std::string path;
    int lock = -1;
  };
  JobFolder(Folder sockets, Folder traces, JobNote note, std::string kineto_config, bool stays);
  static Result<Folder> make_in(const std::string& base);
  static Status repair(Folder& folder);
  static void remove(Folder& folder);
  [[nodiscard]] Status describe() const;

  Folder sockets_;
  Folder traces_;
  JobNote note_;
  std::string kineto_config_text_;
  bool stays_ = false;
};

/// A folder for a job that is started without `eroica run`: that of the same job id where there is one, else a new one.
/// Gives its path. Error kWrite.
Result<std::string> open_job_folder(const std::string& base, const JobNote& note, const std::string& kineto_config);

/// A folder of a job.
struct FoundFolder {
  std::string path;
  uid_t owner = 0;
  bool waits_for_agent = false;  ///< made by open_job_folder()
  JobNote note;
};

/// All that are private to their owners and tell of themselves, in the order of their paths. `owner`: only his.
std::vector<FoundFolder> find_job_folders(const std::vector<std::string>& bases, std::optional<uid_t> owner);

/// The maker of a folder and the processes of its job have ended, or nobody has used it for a day. Removes what they
/// left of sockets.
bool nobody_comes_back(const std::string& path);
/// Says in the folder that processes of a job have been there.
void mark_used(const std::string& path);
/// Removes a folder to which nobody comes back. False: somebody does after all, and it stays.
bool remove_job_folder(const std::string& path);

/// Removes our folders that nobody will come back to: of `run`, those that no process holds; of others, those whose
/// maker and processes have ended, or that nobody has used for a day.
void remove_left_folders(const std::string& base);

/// Removes the files of processes that have ended from a folder of sockets. Gives how many sockets are left that
/// somebody holds.
size_t remove_left_sockets(const std::string& sockets);

struct JobVariables {
  std::string job;
  std::string sockets;
  std::string traces;
  std::string kineto_config;
  std::string probe_dir;         ///< holds site/sitecustomize.py
  bool profiling = true;         ///< false: windows are never taken, so Kineto is left alone
  std::string nccl_plugin = {};  ///< NCCL's profiler plugin; empty: there is none
};

/// What is to be set in the environment of the job's processes. `now`: the environment that they would have.
std::vector<std::pair<std::string, std::string>> job_environment(const JobVariables& variables, const Environment& now);

/// Kineto's configuration file: the user's, and a poll every second. `users`: its text.
std::string kineto_config_text(const std::string& users);

}  // namespace eroica
