#pragma once

#include <string>
#include <vector>

#include "agent/ending_thread.h"
#include "agent/window.h"
#include "base/clocks.h"
#include "sample/gpu_feed.h"
#include "sample/sample_source.h"
#include "sample/sampled_job.h"

namespace eroica {

/// What came of sampling a window.
struct WindowSamples {
  bool written = false;
  double cores = 0;  ///< CPU time that reading took, over the time that it went on
  SourceFindings findings;
  std::vector<std::string> notes;  ///< worth telling the person who reads the report
};

/// Samples this machine from shortly before a window until its end, on a thread of low priority, and writes the samples
/// to a file.
class WindowSampler {
 public:
  /// `gpus`: to be read too.
  WindowSampler(SampledJob job, WindowPlan plan, std::string path, GpuFeeds gpus);
  WindowSampler(const WindowSampler&) = delete;
  WindowSampler& operator=(const WindowSampler&) = delete;
  ~WindowSampler() { (void)finish(); }

  /// Ends it, also before the window's end, and waits for the file.
  WindowSamples finish();

 private:
  void run();
  /// The clock of the traces: that of the system as it was when this began, which later steps of it do not move.
  [[nodiscard]] int64_t now_ns() const { return began_unix_ns_ + monotonic_ns() - began_ns_; }
  /// False: it is to end now.
  bool wait_until(int64_t unix_ns) { return thread_.wait(unix_ns - now_ns()); }

  SampledJob job_;
  WindowPlan plan_;
  std::string path_;
  GpuFeeds gpus_;
  WindowSamples outcome_;
  int64_t began_unix_ns_ = unix_ns();
  int64_t began_ns_ = monotonic_ns();
  EndingThread thread_;  // last: it uses all of the above
};

}  // namespace eroica
