#include "pattern/issuers.h"

#include <algorithm>
#include <map>
#include <string>

#include "pattern/collectives.h"

namespace eroica {

namespace {

template <typename T>
void sort_by(std::vector<T>& values, uint32_t T::*key) {
  const auto before = [&](const T& a, const T& b) { return a.*key < b.*key; };
  if (!std::is_sorted(values.begin(), values.end(), before)) {
    std::stable_sort(values.begin(), values.end(), before);
  }
}

template <typename T>
const T* find_by(const std::vector<T>& values, uint32_t T::*key, uint32_t wanted) {
  const auto found = std::lower_bound(values.begin(), values.end(), wanted,
                                      [&](const T& value, uint32_t other) { return value.*key < other; });
  return wanted != Event::kNoId && found != values.end() && (*found).*key == wanted ? &*found : nullptr;
}

}  // namespace

IssuerLookup::IssuerLookup(HostWalk& walk)
    : launches_(std::move(walk.launches)),
      forward_ops_(std::move(walk.forward_ops)),
      operators_(std::move(walk.operators)) {
  sort_by(launches_, &Launched::correlation);
  sort_by(forward_ops_, &ForwardOp::sequence);
  sort_by(operators_, &OperatorIssuer::external_id);
}

const Launched* IssuerLookup::launch_of(uint32_t correlation) const {
  return find_by(launches_, &Launched::correlation, correlation);
}

uint32_t IssuerLookup::issuer_of(const Event& device_event) const {
  const Launched* launch = launch_of(device_event.id);
  if (launch == nullptr) {
    const OperatorIssuer* op = find_by(operators_, &OperatorIssuer::external_id, device_event.link);
    return op == nullptr ? kNoSlot : op->issuer;
  }
  const ForwardOp* forward = find_by(forward_ops_, &ForwardOp::sequence, launch->sequence);
  return forward == nullptr ? launch->issuer : forward->issuer;
}

void add_device_issuers(const Trace& trace, const WindowClip& window, const IssuerLookup& lookup, DeviceRoles& roles,
                        FunctionSlots& slots, IssuedNs& issued) {
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
      if (const uint32_t issuer = lookup.issuer_of(event); issuer != kNoSlot) {
        issued[issued_key(slots.plain(kind_of(role), event.name), issuer)] += to - from;
      }
    }
  }
}

void add_host_collective_issuers(const Trace& trace, std::vector<CommCall> calls, const DeviceWork& work,
                                 IssuedNs& issued) {
  std::stable_sort(calls.begin(), calls.end(),
                   [](const CommCall& a, const CommCall& b) { return a.start_ns < b.start_ns; });
  std::unordered_map<uint32_t, std::string> kinds;
  const auto kind_of = [&](uint32_t name) -> const std::string& {
    const auto [found, is_new] = kinds.try_emplace(name);
    if (is_new) {
      found->second = collective_kind(trace.names.text(name));
    }
    return found->second;
  };
  std::map<std::string, uint32_t> last_issuer;
  size_t next = 0;
  for (const CollectiveRun& run : work.runs) {
    if (trace.tracks[run.track].device) {
      continue;
    }
    for (; next < calls.size() && calls[next].start_ns <= run.start_ns; ++next) {
      last_issuer[kind_of(calls[next].name)] = calls[next].issuer;
    }
    const auto issuer = last_issuer.find(kind_of(run.event->name));
    if (issuer != last_issuer.end() && issuer->second != kNoSlot) {
      issued[issued_key(run.slot, issuer->second)] += run.end_ns - run.start_ns;
    }
  }
}

}  // namespace eroica
