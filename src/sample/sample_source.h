#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sample/process_tree.h"
#include "sample/sample_log.h"
#include "sample/sampled_job.h"
#include "sample/system_files.h"

namespace eroica {

/// Counters that are read together.
class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  /// Reads them once. What cannot be read is left out.
  virtual void sample(SampleLog& log) = 0;
};

/// A source with how often it is read: every `period_ns`, or less often where it would take more than `share` of a
/// core.
struct PlannedSource {
  std::unique_ptr<SampleSource> source;
  int64_t period_ns = 0;
  double share = 0;
};

/// All sources of this machine. `files`, `job` and `tree` must outlive them. Says in `missing` what this machine does
/// not tell.
std::vector<PlannedSource> host_sources(const SystemFiles& files, const SampledJob& job, ProcessTree& tree,
                                        std::vector<std::string>& missing);

// One by one, in the files of their names.
std::unique_ptr<SampleSource> training_thread_source(const SystemFiles& files, const SampledJob& job);
std::unique_ptr<SampleSource> rank_process_source(const SystemFiles& files, const SampledJob& job);
std::unique_ptr<SampleSource> affinity_source(const SystemFiles& files, const SampledJob& job);
std::unique_ptr<SampleSource> worker_source(const SystemFiles& files, const ProcessTree& tree);
std::unique_ptr<SampleSource> cgroup_source(const SystemFiles& files, const SampledJob& job);
std::unique_ptr<SampleSource> cpu_source(const SystemFiles& files, const std::string& machine);
std::unique_ptr<SampleSource> pressure_source(const SystemFiles& files, const std::string& machine);
std::unique_ptr<SampleSource> foreign_source(const SystemFiles& files, const std::string& machine, ProcessTree& tree);
std::unique_ptr<SampleSource> frequency_source(const SystemFiles& files, const std::string& machine);
std::unique_ptr<SampleSource> disk_source(const SystemFiles& files, const std::string& machine);
std::unique_ptr<SampleSource> remote_storage_source(const SystemFiles& files, const SampledJob& job);
std::unique_ptr<SampleSource> nic_source(const SystemFiles& files, const SampledJob& job);
std::unique_ptr<SampleSource> tcp_source(const SystemFiles& files, const SampledJob& job,
                                         std::vector<std::string>& missing);

}  // namespace eroica
