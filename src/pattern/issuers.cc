#include "pattern/issuers.h"

#include <algorithm>
#include <map>
#include <string>

#include "pattern/collectives.h"

namespace eroica {

IssuerLookup::IssuerLookup(std::vector<Launched> launches, std::vector<ForwardOp> forward_ops)
    : launches_(std::move(launches)), forward_ops_(std::move(forward_ops)) {
  const auto by_correlation = [](const Launched& a, const Launched& b) { return a.correlation < b.correlation; };
  const auto by_sequence = [](const ForwardOp& a, const ForwardOp& b) { return a.sequence < b.sequence; };
  if (!std::is_sorted(launches_.begin(), launches_.end(), by_correlation)) {
    std::stable_sort(launches_.begin(), launches_.end(), by_correlation);
  }
  if (!std::is_sorted(forward_ops_.begin(), forward_ops_.end(), by_sequence)) {
    std::stable_sort(forward_ops_.begin(), forward_ops_.end(), by_sequence);
  }
}

const Launched* IssuerLookup::launch_of(uint32_t correlation) const {
  const auto found =
      std::lower_bound(launches_.begin(), launches_.end(), correlation,
                       [](const Launched& launch, uint32_t wanted) { return launch.correlation < wanted; });
  return found != launches_.end() && found->correlation == correlation ? &*found : nullptr;
}

uint32_t IssuerLookup::issuer_of(const Launched& launch) const {
  if (launch.sequence != Event::kNoId) {
    const auto found = std::lower_bound(forward_ops_.begin(), forward_ops_.end(), launch.sequence,
                                        [](const ForwardOp& op, uint32_t wanted) { return op.sequence < wanted; });
    if (found != forward_ops_.end() && found->sequence == launch.sequence) {
      return found->issuer;
    }
  }
  return launch.issuer;
}

void add_device_issuers(const Trace& trace, const WindowClip& window, const IssuerLookup& lookup, FunctionSlots& slots,
                        const DeviceWork& work, IssuedNs& issued) {
  const auto add = [&](const Event& event, uint32_t slot, int64_t ns) {
    const Launched* launch = event.id == Event::kNoId ? nullptr : lookup.launch_of(event.id);
    const uint32_t issuer = launch == nullptr ? kNoSlot : lookup.issuer_of(*launch);
    if (issuer != kNoSlot) {
      issued[issued_key(slot, issuer)] += ns;
    }
  };
  for (const Track& track : trace.tracks) {
    for (const Event& event : track.events) {
      int64_t from = 0;
      int64_t to = 0;
      const bool kernel = event.category == Category::kKernel;
      const bool memory = event.category == Category::kMemcpy || event.category == Category::kMemset;
      if (!track.device || (!kernel && !memory) || !window.clip(event, from, to)) {
        continue;
      }
      if (!kernel || !is_collective_kernel(trace.names.text(event.name))) {
        add(event, slots.plain(kernel ? FunctionKind::kCompute : FunctionKind::kMemory, event.name), to - from);
      }
    }
  }
  for (const CollectiveRun& run : work.runs) {
    if (trace.tracks[run.track].device) {
      add(*run.event, run.slot, run.end_ns - run.start_ns);
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
