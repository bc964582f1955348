#pragma once

#include <cstdint>
#include <vector>

#include "pattern/function_slots.h"
#include "pattern/pattern.h"
#include "pattern/segments.h"
#include "pattern/shapes.h"
#include "pattern/window.h"
#include "trace/trace.h"

namespace eroica {

/// One collective as it ran on a device stream or on a host thread of its own.
struct CollectiveRun {
  const Event* event;
  uint32_t track;    ///< in Trace::tracks
  uint32_t slot;     ///< its function
  int64_t start_ns;  ///< clipped, since the window's start
  int64_t end_ns;
  int64_t exposed_ns = 0;
};

/// What a device event does for the job; told by category and name, once a name.
enum class DeviceRole : uint8_t { kUnknown, kCompute, kMemory, kCollective, kNone };

class DeviceRoles {
 public:
  explicit DeviceRoles(const StringTable& names) : names_(&names), by_name_(names.size()) {}
  DeviceRole of(const Event& event);

 private:
  const StringTable* names_;
  std::vector<DeviceRole> by_name_;  // of kernels
};

/// What the accelerators of a rank did in the window.
struct DeviceWork {
  std::vector<Segment> compute;  ///< as they ran, unsorted
  std::vector<Segment> memory;
  std::vector<CollectiveRun> runs;  ///< collectives on devices and on the host, unsorted
  int32_t device = -1;              ///< the device with most work, −1 = none
  bool seen = false;                ///< device work exists, in the window or not
};

/// Gathers device work and collectives, and counts the executions of their functions.
DeviceWork gather_device_work(const Trace& trace, const WindowClip& window, DeviceRoles& roles, ElementCounts& elements,
                              FunctionSlots& slots);

/// The kind of function that work of a role (not kUnknown or kNone) is.
FunctionKind kind_of(DeviceRole role);

}  // namespace eroica
