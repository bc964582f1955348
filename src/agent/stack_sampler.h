#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/ending_thread.h"
#include "agent/sampled_stacks.h"
#include "agent/window.h"

namespace eroica {

/// Where py-spy is: on this process's PATH, else beside this Python, if that is an absolute path; empty: nowhere.
std::string find_py_spy(const std::string& python);
/// As it was called; empty: not known.
std::string program_of(pid_t pid);

/// Samples the Python stacks of some processes over a window, from outside and without stopping them, by one py-spy for
/// each; on a thread of its own.
class StackSampler {
 public:
  struct Target {
    int32_t rank = -1;
    pid_t pid = -1;
    std::string py_spy;
  };

  static constexpr int64_t kMostBytes = int64_t{64} << 20;

  /// Files go into `folder`, which is the window's. Of what one py-spy wrote no more than the first `most_bytes` are
  /// read.
  StackSampler(std::string folder, const WindowPlan& plan, std::vector<Target> targets,
               int64_t most_bytes = kMostBytes);
  StackSampler(const StackSampler&) = delete;
  StackSampler& operator=(const StackSampler&) = delete;
  ~StackSampler() { (void)finish(); }

  [[nodiscard]] bool done() const { return thread_.ended(); }

  struct Outcome {
    std::map<int32_t, std::string> files;  ///< by rank: names of traces in the folder
    std::vector<std::string> notes;        ///< what became of the others, and what is not whole
  };
  /// Ends what is not done yet.
  Outcome finish();

 private:
  struct Sampled {
    Target target;
    pid_t sampler = -1;  // −1: it does not run
    int64_t began_unix_ns = 0;
    std::string why;  // there is nothing of it
  };
  static std::vector<Sampled> none_begun(std::vector<Target> targets);
  void run();
  void begin(Sampled& sampled) const;
  void look_after(Sampled& sampled, bool no_longer) const;
  void convert(Sampled& sampled);
  void note_cut(const Sampled& sampled, const SampledStacks& stacks, int64_t bytes);
  [[nodiscard]] std::string path_of(const Sampled& sampled, const char* what) const;

  std::string folder_;
  WindowPlan plan_;
  int64_t most_bytes_;
  std::vector<Sampled> ranks_;
  Outcome outcome_;
  EndingThread thread_;  // last: it uses all of the above
};

}  // namespace eroica
