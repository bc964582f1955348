#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sample/gpu_feed.h"
#include "sample/process_tree.h"
#include "sample/sample_log.h"
#include "sample/sampled_job.h"
#include "sample/system_files.h"
#include "sample/thread_switches.h"

namespace eroica {

/// What sources found out beside their samples.
struct SourceFindings {
  struct Gpu {
    int32_t index = -1;
    std::string model;
  };
  std::vector<std::string> missing;  ///< what this machine does not tell
  std::map<int32_t, Gpu> gpus;       ///< that the ranks use
  /// A process outside of the job that had the CPU for which a rank's training thread waited.
  struct Neighbour {
    int32_t rank = -1;
    pid_t pid = -1;
    std::string name;
    std::string cgroup;
    double waited_s = 0;
  };
  std::vector<Neighbour> neighbours;
  std::vector<std::string> notes;  ///< worth telling the person who reads the report
};

/// Counters that are read together.
class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  /// Reads them once. What cannot be read is left out.
  virtual void sample(SampleLog& log) = 0;
  /// The same, for the last time; may wait a little for what is under way.
  virtual void finish(SampleLog& log) { sample(log); }
  /// CPU time that other threads spent for it so far.
  [[nodiscard]] virtual int64_t spent_elsewhere_ns() const { return 0; }
  /// Adds what it found out.
  virtual void add_findings(SourceFindings& /*findings*/) const {}
};

/// A source with how often it is read: every `period_ns`, or less often where it would take more than `share` of a
/// core; but every `longest_ns` in any case.
struct PlannedSource {
  std::unique_ptr<SampleSource> source;
  int64_t period_ns = 0;
  double share = 0;
  int64_t longest_ns = 5'000'000'000;
};

/// What the sources of GPUs tell each other.
struct GpuPlaces {
  /// What the job's GPUs are called, by bus_key().
  std::map<std::string, std::set<std::string>> entities;
  /// Where the GPU of a rank is, as its vendor writes it.
  std::map<int32_t, std::string> bus_of_rank;
  /// Signals of which finer samples come, of these GPUs.
  std::set<std::string> fine_gpus;
  std::set<GpuSignal> fine_signals;
};

/// All sources of this machine. `files`, `job`, `tree` and `places` must outlive them. Says in `missing` what this
/// machine does not tell.
std::vector<PlannedSource> host_sources(const SystemFiles& files, const SampledJob& job, ProcessTree& tree,
                                        const GpuFeeds& gpus, const std::shared_ptr<SwitchFeed>& switches,
                                        GpuPlaces& places, std::vector<std::string>& missing);

// One by one, in the files of their names.
std::unique_ptr<SampleSource> training_thread_source(const SystemFiles& files, const SampledJob& job,
                                                     const ProcessTree& tree, std::shared_ptr<SwitchFeed> switches,
                                                     const GpuPlaces& places);
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
std::unique_ptr<SampleSource> gpu_source(const SystemFiles& files, const SampledJob& job, const ProcessTree& tree,
                                         std::shared_ptr<GpuFeed> feed, GpuPlaces& places);
std::unique_ptr<SampleSource> fine_gpu_source(std::shared_ptr<GpuFeed> feed, GpuPlaces& places);

}  // namespace eroica
