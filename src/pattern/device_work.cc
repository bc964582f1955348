#include "pattern/device_work.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/hash.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

enum class Work : uint8_t { kUnknown, kCompute, kMemory, kCollective, kNone };

Work classify_kernel(std::string_view name) {
  if (is_collective_kernel(name)) {
    return Work::kCollective;
  }
  // MTIA lists its queue's bookkeeping and copies among its device events.
  if (name == "event_wait" || name == "event_record") {
    return Work::kNone;
  }
  return name == "dma_request" ? Work::kMemory : Work::kCompute;
}

bool is_device_work(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy || category == Category::kMemset;
}

}  // namespace

bool WindowClip::clip(const Event& event, int64_t& from_ns, int64_t& to_ns) const {
  from_ns = std::max(event.start_ns, start_ns) - start_ns;
  to_ns = std::min(event.end_ns(), end_ns) - start_ns;
  return from_ns < to_ns || (from_ns == to_ns && event.duration_ns == 0);
}

DeviceWork gather_device_work(const Trace& trace, const WindowClip& window, FunctionSlots& slots) {
  DeviceWork work;
  std::vector<Work> kernel_work(trace.names.size(), Work::kUnknown);
  std::map<std::string, int64_t> busy_ns;
  size_t count = 0;
  for (const Track& track : trace.tracks) {
    count += track.device ? track.events.size() : 0;
  }
  work.compute.reserve(count);

  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const Track& track = trace.tracks[t];
    for (const Event& event : track.events) {
      int64_t from = 0;
      int64_t to = 0;
      if (!track.device) {
        const bool may_be = event.category == Category::kAnnotation || event.category == Category::kOperator;
        if (may_be && is_host_collective(trace.names.text(event.name)) && window.clip(event, from, to)) {
          const uint32_t slot = slots.plain(FunctionKind::kCollective, event.name);
          slots.add_execution(slot, to - from);
          work.runs.push_back({&event, t, slot, from, to});
        }
        continue;
      }
      if (!is_device_work(event.category)) {
        continue;
      }
      work.seen = true;
      if (!window.clip(event, from, to)) {
        continue;
      }
      Work what = Work::kMemory;
      if (event.category == Category::kKernel) {
        Work& cached = kernel_work[event.name];
        if (cached == Work::kUnknown) {
          cached = classify_kernel(trace.names.text(event.name));
        }
        what = cached;
      }
      if (what == Work::kNone) {
        continue;
      }
      const FunctionKind kind = what == Work::kCompute  ? FunctionKind::kCompute
                                : what == Work::kMemory ? FunctionKind::kMemory
                                                        : FunctionKind::kCollective;
      const uint32_t slot = slots.plain(kind, event.name);
      slots.add_execution(slot, to - from);
      busy_ns[track.pid] += to - from;
      if (event.category == Category::kKernel) {
        if (event.detail != 0) {
          const Launch& launch = trace.launches[event.detail];
          slots.add_shape(slot, hash_combine(trace.names.text_hash(launch.grid), trace.names.text_hash(launch.block)));
        }
      } else {
        slots[slot].bytes += static_cast<int64_t>(trace.bytes[event.detail]);
      }
      if (what == Work::kCollective) {
        work.runs.push_back({&event, t, slot, from, to});
      } else {
        (what == Work::kCompute ? work.compute : work.memory).push_back({from, to, slot});
      }
    }
  }

  int64_t busiest_ns = -1;
  for (const auto& [pid, ns] : busy_ns) {
    int32_t device = -1;
    const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), device);
    if (error == std::errc() && end == pid.data() + pid.size() && ns > busiest_ns) {
      busiest_ns = ns;
      work.device = device;
    }
  }
  return work;
}

}  // namespace eroica
