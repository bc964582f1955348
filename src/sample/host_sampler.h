#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sample/process_tree.h"
#include "sample/sample_log.h"
#include "sample/sample_source.h"
#include "sample/sampled_job.h"
#include "sample/system_files.h"

namespace eroica {

/// Reads this machine's counters over a window, each as often as it is worth: 100 times a second what is cheap, less
/// often what costs more. Has no clock and no thread of its own.
class HostSampler {
 public:
  /// `cost_ns`: CPU time that the calling thread has used.
  /// `gpus`: to be read as well; what they were asked before goes on with them.
  /// `switches`: of the ranks' training threads; nullptr: not told.
  HostSampler(SystemFiles files, SampledJob job, std::function<int64_t()> cost_ns, const GpuFeeds& gpus = {},
              const std::shared_ptr<SwitchFeed>& switches = nullptr);
  HostSampler(const HostSampler&) = delete;
  HostSampler& operator=(const HostSampler&) = delete;

  /// Reads what is due; gives when the next is.
  int64_t sample(int64_t unix_ns);
  /// Reads everything a last time, so that what is read seldom covers the window's end.
  void finish(int64_t unix_ns);

  [[nodiscard]] const SampleSet& samples() const { return log_.samples(); }
  [[nodiscard]] size_t count() const { return log_.count(); }
  [[nodiscard]] size_t lost() const { return log_.lost(); }
  /// The share of a core that it took (0: over too short a time to tell), and the processes outside of the job that
  /// used most.
  [[nodiscard]] double cost_share() const;
  /// For how long it has been reading.
  [[nodiscard]] double seconds() const { return static_cast<double>(last_ns_ - began_ns_) * 1e-9; }
  struct ForeignUse {
    std::string name;
    std::string cgroup;
    pid_t pid = -1;
    double cores = 0;
  };
  [[nodiscard]] std::vector<ForeignUse> foreign(size_t most, double least_cores) const;
  /// What this machine does not tell, and the GPUs that the ranks use.
  [[nodiscard]] SourceFindings findings() const;

 private:
  struct Due {
    PlannedSource plan;
    int64_t next_ns = 0;
    int64_t cost_ns = 0;  // of a reading, smoothed
    int64_t elsewhere_ns = 0;
  };
  void read(Due& due, int64_t unix_ns, bool last);

  SystemFiles files_;
  SampledJob job_;
  std::function<int64_t()> cost_ns_;
  SampleLog log_;
  ProcessTree tree_;
  GpuPlaces places_;
  std::vector<std::string> missing_;
  std::vector<Due> sources_;
  int64_t began_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t spent_ns_ = 0;
};

}  // namespace eroica
