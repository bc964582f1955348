#pragma once

#include <cstdint>
#include <vector>

#include "simulate/program.h"

namespace eroica {

/// What the main thread does, for the samplers.
enum class HostActivity : uint8_t {
  kRun,        ///< on a CPU
  kSpin,       ///< on a CPU, waiting for the device
  kWaitCpu,    ///< could run, but others have the core
  kThrottled,  ///< stopped by the quota
  kStorage,    ///< waiting for storage or a peer
  kSleep,      ///< waiting for a lock or a batch
  kPause,      ///< on a CPU, collecting garbage
};

struct HostInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  HostActivity activity = HostActivity::kRun;
};

/// A span of the host as it ran.
struct HostSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t name = 0;
  SpanKind span = SpanKind::kPython;
  uint8_t thread = 0;
  bool open = false;  ///< still running when the window ended
  uint32_t dims = 0;
  int32_t kernel = kNoKernel;  ///< launched by a runtime call
  int32_t collective = -1;
  int32_t parent = -1;  ///< enclosing span of the same thread
  uint16_t step = 0;
};

struct KernelRun {
  int64_t start_ns = -1;     ///< −1: never started
  int64_t end_ns = -1;       ///< −1: never ended
  int64_t transfer_ns = -1;  ///< collectives: when the last member had come
};

/// One batch that a dataloader's worker prepared.
struct WorkerRun {
  int worker = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct RankTimeline {
  std::vector<HostSpan> spans;  ///< in order of their beginning
  std::vector<KernelRun> kernels;
  std::vector<HostInterval> host;
  std::vector<WorkerRun> workers;
  std::vector<int64_t> step_start_ns;                   ///< on the host
  std::vector<int64_t> step_end_ns;                     ///< of the last kernel of the step
  std::vector<std::pair<int64_t, double>> proxy_waits;  ///< when, and for how many ns, the network thread waited
  int64_t died_ns = -1;
  int64_t stopped_ns = -1;
};

/// Bytes between start and end of a collective, as one member moves them.
struct PlayedTransfer {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t communicator = 0;
  int rank = 0;      ///< −1: every member
  double bytes = 0;  ///< of one member, one way
  bool between_hosts = false;
  bool sends = true;
  bool receives = true;
};

struct Timeline {
  std::vector<RankTimeline> ranks;
  std::vector<PlayedTransfer> transfers;
  int64_t end_ns = 0;    ///< of everything
  bool blocked = false;  ///< some collectives never ended
};

}  // namespace eroica
