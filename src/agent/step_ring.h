#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "agent/probe_message.h"
#include "base/descriptor.h"

namespace eroica {

// Step records in memory that a training process shares (probe/PROTOCOL.md). It writes while they are read, and what it
// writes is not trusted.

inline constexpr size_t kRingSlots = 1024;
inline constexpr size_t kRingBytes = kRingSlots * kStepBytes;

/// Fills `to` with the ring's bytes from an offset on. False: they cannot be had.
using ReadRing = std::function<bool(size_t offset, std::span<char> to)>;

/// Where a reader is in a ring.
class RingCursor {
 public:
  /// Appends the records that are new, in the order of their steps; at first all that are there.
  void take(const ReadRing& read, std::vector<StepMessage>& records);
  /// Records that came and went between two calls.
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  void take_all(const ReadRing& read, std::vector<StepMessage>& records);

  int64_t next_ = 0;  ///< the step that is due; 0: any
  uint64_t lost_ = 0;
};

/// The rings of a job's processes.
class StepRings {
 public:
  /// Takes a process's ring, unless it is none, or the one that is known already.
  void add(pid_t pid, Descriptor ring);
  void remove(pid_t pid) { rings_.erase(pid); }
  /// The records that are new.
  std::vector<StepMessage> take(pid_t pid);
  [[nodiscard]] uint64_t lost(pid_t pid) const;

 private:
  struct Ring {
    Descriptor file;
    dev_t device = 0;
    ino_t inode = 0;
    RingCursor cursor;
  };
  std::map<pid_t, Ring> rings_;
};

}  // namespace eroica
