#include "pattern/device_work.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/hash.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

DeviceRole role_of_kernel(std::string_view name) {
  if (is_collective_kernel(name)) {
    return DeviceRole::kCollective;
  }
  // MTIA lists its queue's bookkeeping and copies among its device events.
  if (name == "event_wait" || name == "event_record") {
    return DeviceRole::kNone;
  }
  return name == "dma_request" ? DeviceRole::kMemory : DeviceRole::kCompute;
}

std::vector<bool> host_collective_names(const StringTable& names) {
  std::vector<bool> found(names.size());
  for (uint32_t name = 0; name < names.size(); ++name) {
    found[name] = is_host_collective(names.text(name));
  }
  return found;
}

void gather_host_collectives(const Track& track, uint32_t index, const WindowClip& window,
                             const std::vector<bool>& host_collective, FunctionSlots& slots, DeviceWork& work) {
  for (const Event& event : track.events) {
    int64_t from = 0;
    int64_t to = 0;
    const bool may_be = event.category == Category::kAnnotation || event.category == Category::kOperator;
    if (may_be && host_collective[event.name] && window.clip(event, from, to)) {
      const uint32_t slot = slots.plain(FunctionKind::kCollective, event.name);
      slots.add_execution(slot, to - from);
      work.runs.push_back({&event, index, slot, from, to});
    }
  }
}

// Returns the time of the track's work, −1 = none in the window.
int64_t gather_device_track(const Trace& trace, uint32_t index, const WindowClip& window, DeviceRoles& roles,
                            ElementCounts& elements, FunctionSlots& slots, DeviceWork& work) {
  int64_t busy_ns = 0;
  bool any = false;
  for (const Event& event : trace.tracks[index].events) {
    int64_t from = 0;
    int64_t to = 0;
    const bool is_kernel = event.category == Category::kKernel;
    work.seen = work.seen || is_kernel || event.category == Category::kMemcpy || event.category == Category::kMemset;
    const DeviceRole role = roles.of(event);
    if (role == DeviceRole::kNone || !window.clip(event, from, to)) {
      continue;
    }
    const uint32_t slot = slots.plain(kind_of(role), event.name);
    slots.add_execution(slot, to - from);
    busy_ns += to - from;
    any = true;
    if (!is_kernel) {
      slots[slot].bytes += static_cast<int64_t>(trace.bytes[event.detail]);
    } else if (const Launch& launch = trace.launches[event.detail]; launch.grid != 0) {
      slots.add_shape(slot, hash_combine(trace.names.text_hash(launch.grid), trace.names.text_hash(launch.block)));
      const double threads = elements.of(launch.grid) * elements.of(launch.block);
      slots[slot].work += threads;
    }
    if (role == DeviceRole::kCollective) {
      work.runs.push_back({&event, index, slot, from, to});
    } else {
      (role == DeviceRole::kCompute ? work.compute : work.memory).push_back({from, to, slot});
    }
  }
  return any ? busy_ns : -1;
}

}  // namespace

DeviceRole DeviceRoles::of(const Event& event) {
  if (event.category == Category::kMemcpy || event.category == Category::kMemset) {
    return DeviceRole::kMemory;
  }
  if (event.category != Category::kKernel) {
    return DeviceRole::kNone;
  }
  DeviceRole& role = by_name_[event.name];
  if (role == DeviceRole::kUnknown) {
    role = role_of_kernel(names_->text(event.name));
  }
  return role;
}

FunctionKind kind_of(DeviceRole role) {
  return role == DeviceRole::kCompute  ? FunctionKind::kCompute
         : role == DeviceRole::kMemory ? FunctionKind::kMemory
                                       : FunctionKind::kCollective;
}

DeviceWork gather_device_work(const Trace& trace, const WindowClip& window, DeviceRoles& roles, ElementCounts& elements,
                              FunctionSlots& slots) {
  DeviceWork work;
  const std::vector<bool> host_collective = host_collective_names(trace.names);
  const bool on_host = std::find(host_collective.begin(), host_collective.end(), true) != host_collective.end();
  std::map<std::string, int64_t> busy_ns;
  size_t count = 0;
  for (const Track& track : trace.tracks) {
    count += track.device ? track.events.size() : 0;
  }
  work.compute.reserve(count);

  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const Track& track = trace.tracks[t];
    if (track.device) {
      const int64_t ns = gather_device_track(trace, t, window, roles, elements, slots, work);
      if (ns >= 0) {
        busy_ns[track.pid] += ns;
      }
    } else if (on_host) {
      gather_host_collectives(track, t, window, host_collective, slots, work);
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
