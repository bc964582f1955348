#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sample/process_text.h"
#include "sample/sampled_job.h"
#include "sample/system_files.h"

namespace eroica {

/// A process that a rank started to load data.
struct LoaderWorker {
  int32_t rank = -1;
  pid_t pid = -1;
};

/// A process outside of the job that used CPUs.
struct Stranger {
  pid_t pid = -1;
  std::string name;
  double cpu_s = 0;
};

/// All processes of this machine, looked at now and then: which are the job's, and what the others use.
class ProcessTree {
 public:
  ProcessTree(const SystemFiles& files, const SampledJob& job) : files_(&files), job_(&job) {}

  void look();
  [[nodiscard]] const std::vector<LoaderWorker>& workers() const { return workers_; }
  /// CPU time of the job's processes between the first and the last look, in clock ticks.
  [[nodiscard]] uint64_t job_ticks() const { return job_ticks_; }
  /// Those that used most since the first look, most first.
  [[nodiscard]] std::vector<Stranger> strangers() const;

  struct Process {
    TaskStat stat;
    uint64_t start_cpu_ticks = 0;  ///< at the first look
    uint64_t cpu_ticks = 0;
    bool of_job = false;
    bool seen = false;
  };
  /// As it was at the last look; nullptr: it was not there.
  [[nodiscard]] const Process* find(pid_t pid) const;
  /// It is no process of the job: one that began since the last look goes by its parents, and one that has ended since
  /// then, so that nobody knows whose it was, is not called foreign.
  [[nodiscard]] bool is_foreign(pid_t pid) const;

 private:
  void tell_apart();

  const SystemFiles* files_;
  const SampledJob* job_;
  std::map<pid_t, Process> processes_;
  std::vector<LoaderWorker> workers_;
  uint64_t ended_ticks_ = 0;  // of the job's processes that are no more
  uint64_t job_ticks_ = 0;
  bool looked_ = false;
};

}  // namespace eroica
