#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/window.h"
#include "sample/sampled_job.h"

namespace eroica {

/// What came of sampling a window.
struct WindowSamples {
  bool written = false;
  double cores = 0;                  ///< CPU time that reading took, over the time that it went on
  std::vector<std::string> missing;  ///< what this machine does not tell
  std::vector<std::string> notes;    ///< worth telling the person who reads the report
};

/// Samples this machine from shortly before a window until its end, on a thread of low priority, and writes the samples
/// to a file.
class WindowSampler {
 public:
  WindowSampler(SampledJob job, WindowPlan plan, std::string path);
  WindowSampler(const WindowSampler&) = delete;
  WindowSampler& operator=(const WindowSampler&) = delete;
  ~WindowSampler() { (void)finish(); }

  /// Ends it, also before the window's end, and waits for the file.
  WindowSamples finish();

 private:
  void run();
  /// False: it is to end now.
  bool wait_until(int64_t unix_ns);

  SampledJob job_;
  WindowPlan plan_;
  std::string path_;
  WindowSamples outcome_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace eroica
