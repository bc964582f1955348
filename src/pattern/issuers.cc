#include "pattern/issuers.h"

#include <algorithm>
#include <map>
#include <string>

#include "pattern/collectives.h"

namespace eroica {

template <typename T, uint32_t T::*kId>
IssuerLookup::ById<T, kId>::ById(std::vector<T> unsorted) : values(std::move(unsorted)) {
  constexpr int kMostRuns = 8;
  const auto before = [](const T& a, const T& b) { return a.*kId < b.*kId; };
  // Ids mostly rise along each thread, so there are few sorted runs to merge.
  auto sorted = std::is_sorted_until(values.begin(), values.end(), before);
  for (int run = 1; sorted != values.end() && run < kMostRuns; ++run) {
    const auto next = std::is_sorted_until(sorted, values.end(), before);
    std::inplace_merge(values.begin(), sorted, next, before);
    sorted = next;
  }
  if (sorted != values.end()) {
    std::stable_sort(values.begin(), values.end(), before);
  }
}

template <typename T, uint32_t T::*kId>
const T* IssuerLookup::ById<T, kId>::find(uint32_t id) {
  constexpr size_t kNear = 16;
  if (id == Event::kNoId) {
    return nullptr;
  }
  size_t first = 0;
  size_t end = values.size();
  if (last < end && values[last].*kId <= id) {
    const size_t near = std::min(last + kNear, end);
    for (first = last; first < near && values[first].*kId < id; ++first) {
    }
    end = first < near ? first : end;
  }
  const auto found = std::lower_bound(values.begin() + static_cast<std::ptrdiff_t>(first),
                                      values.begin() + static_cast<std::ptrdiff_t>(end), id,
                                      [](const T& value, uint32_t wanted) { return value.*kId < wanted; });
  last = static_cast<size_t>(found - values.begin());
  return found != values.end() && (*found).*kId == id ? &*found : nullptr;
}

IssuerLookup::IssuerLookup(HostWalk& walk)
    : launches_(std::move(walk.launches)),
      forward_ops_(std::move(walk.forward_ops)),
      operators_(std::move(walk.operators)) {}

const Launched* IssuerLookup::launch_of(uint32_t correlation) { return launches_.find(correlation); }

uint32_t IssuerLookup::issuer_of(const Event& device_event, const Launched* launch) {
  if (launch == nullptr) {
    const OperatorIssuer* op = operators_.find(device_event.link);
    return op == nullptr ? kNoSlot : op->issuer;
  }
  const ForwardOp* forward = forward_ops_.find(launch->sequence);
  return forward == nullptr ? launch->issuer : forward->issuer;
}

void book_issued_work(const Trace& trace, const WindowClip& window, IssuerLookup& lookup, DeviceRoles& roles,
                      ElementCounts& elements, FunctionSlots& slots, IssuedNs& issued, Attribution& attribution) {
  const auto book_compute = [&](const Event& event, int64_t from_ns, const Launched* launch) {
    const Launch& grid = trace.launches[event.detail];
    const double threads = grid.grid == 0 ? 0 : elements.of(grid.grid) * elements.of(grid.block);
    if (launch != nullptr) {
      attribution.add_launched(launch->start_ns - window.start_ns, event.duration_ns, threads);
    } else if (!lookup.knows_launches()) {
      attribution.add_work(from_ns, threads);
    }
  };
  for (const Track& track : trace.tracks) {
    if (!track.device) {
      continue;
    }
    for (const Event& event : track.events) {
      const DeviceRole role = roles.of(event);
      int64_t from = 0;
      int64_t to = 0;
      if (role == DeviceRole::kNone || !window.clip(event, from, to)) {
        continue;
      }
      const Launched* launch = lookup.launch_of(event.id);
      if (const uint32_t issuer = lookup.issuer_of(event, launch); issuer != kNoSlot) {
        issued[issued_key(slots.plain(kind_of(role), event.name), issuer)] += to - from;
      }
      if (role == DeviceRole::kCompute) {
        book_compute(event, from, launch);
      }
    }
  }
}

void add_host_collective_issuers(const Trace& trace, std::vector<CommCall> calls, const DeviceWork& work,
                                 IssuedNs& issued) {
  std::stable_sort(calls.begin(), calls.end(),
                   [](const CommCall& a, const CommCall& b) { return a.start_ns < b.start_ns; });
  CollectiveKinds kinds(trace.names);
  std::map<std::string, uint32_t> last_issuer;
  size_t next = 0;
  for (const CollectiveRun& run : work.runs) {
    if (trace.tracks[run.track].device) {
      continue;
    }
    for (; next < calls.size() && calls[next].start_ns <= run.start_ns; ++next) {
      last_issuer[kinds.of(calls[next].name)] = calls[next].issuer;
    }
    const auto issuer = last_issuer.find(kinds.of(run.event->name));
    if (issuer != last_issuer.end() && issuer->second != kNoSlot) {
      issued[issued_key(run.slot, issuer->second)] += run.end_ns - run.start_ns;
    }
  }
}

}  // namespace eroica
