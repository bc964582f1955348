#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/ending_thread.h"

namespace eroica {

/// A rank that takes part in a window.
struct NcclRank {
  int32_t rank = -1;
  std::string pid;  ///< as its process sees it
};

/// The plugins, "PID-RANDOM", that listen in a job's folder for these ranks.
std::vector<std::string> nccl_plugins_of(const std::string& sockets, const std::vector<NcclRank>& ranks);

/// Reads what NCCL told of a window and writes it beside the ranks' traces, on a thread of low priority.
class NcclRingReader {
 public:
  /// Files go into `folder`, which is the window's; what NCCL told before `begin_unix_ns` is of an earlier one.
  NcclRingReader(std::string sockets, std::string folder, std::vector<NcclRank> ranks, int64_t begin_unix_ns);
  NcclRingReader(const NcclRingReader&) = delete;
  NcclRingReader& operator=(const NcclRingReader&) = delete;
  ~NcclRingReader() { (void)finish(); }

  [[nodiscard]] bool done() const { return thread_.ended(); }

  struct Outcome {
    std::map<int32_t, std::string> files;  ///< by rank: names of traces in the folder
    std::vector<std::string> notes;        ///< what was lost
  };
  /// Leaves out what is not read yet.
  Outcome finish();

 private:
  void run();
  void read(const std::string& plugin);

  std::string sockets_;
  std::string folder_;
  std::vector<NcclRank> ranks_;
  int64_t begin_unix_ns_;
  Outcome outcome_;
  EndingThread thread_;  // last: it uses all of the above
};

}  // namespace eroica
