#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pattern/attribution.h"
#include "pattern/device_work.h"
#include "pattern/function_slots.h"
#include "pattern/host_walk.h"
#include "trace/trace.h"

namespace eroica {

/// Total time by (function slot, issuing Python or operator slot).
using IssuedNs = std::unordered_map<uint64_t, int64_t>;
inline uint64_t issued_key(uint32_t slot, uint32_t issuer) { return (uint64_t{slot} << 32) | issuer; }

/// Finds the code that launched device work: by correlation to the launching call, from there to the user's Python
/// frame around it, or, on autograd's threads, by sequence number to the frame that ran the forward operator. Where
/// the launching call was not recorded, by External id to the operator.
class IssuerLookup {
 public:
  /// Takes what `walk` gathered, leaving it without.
  explicit IssuerLookup(HostWalk& walk);
  /// nullptr: no launch with this correlation was recorded.
  [[nodiscard]] const Launched* launch_of(uint32_t correlation);
  [[nodiscard]] bool knows_launches() const { return !launches_.values.empty(); }
  /// The slot of the code that issued a device event, launched by `launch` (launch_of() of it), kNoSlot = unknown.
  [[nodiscard]] uint32_t issuer_of(const Event& device_event, const Launched* launch);

 private:
  /// Sorted by an id. Those asked for mostly rise by little, as a stream's work is launched in order.
  template <typename T, uint32_t T::*kId>
  struct ById {
    std::vector<T> values;
    size_t last = 0;  // the first that is not below the id asked for last

    explicit ById(std::vector<T> unsorted);
    const T* find(uint32_t id);
  };
  ById<Launched, &Launched::correlation> launches_;
  ById<ForwardOp, &ForwardOp::sequence> forward_ops_;
  ById<OperatorIssuer, &OperatorIssuer::external_id> operators_;
};

/// Books what is on the device in the window to those who launched it: its time to the functions that issued it, and
/// its compute to the steps; where no launches were recorded, to the steps it began in.
void book_issued_work(const Trace& trace, const WindowClip& window, IssuerLookup& lookup, DeviceRoles& roles,
                      ElementCounts& elements, FunctionSlots& slots, IssuedNs& issued, Attribution& attribution);

/// Adds the time of the collectives that ran on host threads (sorted by start) to the functions that issued them: the
/// last call of their kind before they began, since such threads carry no reference to it.
void add_host_collective_issuers(const Trace& trace, std::vector<CommCall> calls, const DeviceWork& work,
                                 IssuedNs& issued);

}  // namespace eroica
