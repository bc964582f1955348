// What NCCL looks up in a profiler plugin. Everything else is in the recorder and the listener.

#include <unistd.h>

#include <atomic>
#include <new>

#include "listener.h"
#include "nccl_abi.h"
#include "recorder.h"

namespace eroica::nccl {
namespace {

// NCCL's threads may call until the process ends, so it never goes.
Listener& listener() {
  static auto* one = new Listener;
  return *one;
}

/// What NCCL holds for each communicator. Late callbacks may come with ones that are closed, so they stay, 24 bytes
/// each.
struct Context {
  std::atomic<Communicator*> communicator = nullptr;
  int* mask = nullptr;
  Context* before = nullptr;
};
std::atomic<Context*> contexts = nullptr;

Result join(void** context, int* mask, const char* name, uint64_t hash, int nodes, int ranks, int rank) {
  *context = nullptr;
  *mask = 0;
  if (!listener().open()) return kSuccess;
  auto* joined = new (std::nothrow) Context{{listener().recorder()->join(hash, name, nodes, ranks, rank)}, mask};
  if (joined == nullptr) return kSuccess;
  joined->before = contexts.load();
  while (!contexts.compare_exchange_weak(joined->before, joined)) {
  }
  listener().watch(mask);
  *context = joined;
  return kSuccess;
}

/// nullptr: it is none of ours. Proxy operations that a peer on the host does for another process (PXN) come with that
/// process's pointer, which must not be followed.
Context* own_context(const void* context) {
  Context* one = contexts.load();
  while (one != nullptr && one != context) one = one->before;
  return one;
}

Result leave(void* context) {
  Context* left = own_context(context);
  if (left == nullptr) return kSuccess;
  listener().forget(left->mask);
  left->mask = nullptr;
  Recorder::leave(left->communicator.exchange(nullptr));
  return kSuccess;
}

const Communicator* communicator_of(const void* context) {
  const Context* own = own_context(context);
  return own == nullptr ? nullptr : own->communicator.load();
}

Event of(const CollectiveV4& collective) {
  return {.kind = Kind::kCollective,
          .channels = collective.channels,
          .sequence = collective.sequence,
          .count = collective.count,
          .function = collective.function,
          .datatype = collective.datatype,
          .algorithm = collective.algorithm,
          .protocol = collective.protocol};
}

Event of(const CollectiveV5& collective) { return of(collective.as_before); }

template <typename PointToPoint>
Event of(const PointToPoint& operation) {
  return {.kind = Kind::kPointToPoint,
          .channels = operation.channels,
          .peer = operation.peer,
          .count = operation.count,
          .function = operation.function,
          .datatype = operation.datatype};
}

Event of(const ProxyOperation& operation, void* parent) {
  const bool is_own = operation.pid == getpid();
  const uint64_t steps = operation.steps < 0 ? 0 : static_cast<uint64_t>(operation.steps);
  const uint64_t chunk = operation.chunk_bytes < 0 ? 0 : static_cast<uint64_t>(operation.chunk_bytes);
  // Of another process the parent is a handle of that process's plugin.
  return {.kind = Kind::kProxyOperation,
          .channel = operation.channel,
          .flags = static_cast<uint8_t>((operation.is_send != 0 ? kSends : 0) | (is_own ? 0 : kStrangerOp)),
          .peer = operation.peer,
          .count = steps * chunk,
          .parent = is_own ? parent : nullptr};
}

Event of(const KernelChannel& kernel, void* parent) {
  return {.kind = Kind::kChannel, .channel = kernel.channel, .device_start_ns = kernel.device_ns, .parent = parent};
}

Result start(void* context, void** handle, const Event& event) {
  Recorder* recorder = listener().recorder();
  *handle = recorder == nullptr ? nullptr : recorder->start(communicator_of(context), event);
  return kSuccess;
}

/// NCCL 2.27 tells of collectives only where it got a handle for their group. Nothing is recorded of groups: this is
/// the handle of no event.
Result start_group(void** handle) {
  const Recorder* recorder = listener().recorder();
  *handle = recorder != nullptr && recorder->recording() ? Recorder::no_event() : nullptr;
  return kSuccess;
}

template <typename NcclEvent>
Result start_event(void* context, void** handle, NcclEvent* event) {
  switch (event->type) {
    case kGroup:
      return start_group(handle);
    case kCollective:
      return start(context, handle, of(event->collective));
    case kPointToPoint:
      return start(context, handle, of(event->point_to_point));
    case kProxyOperation:
      return start(context, handle, of(event->proxy, event->parent));
    case kKernelChannel:
      return start(context, handle, of(event->kernel, event->parent));
    default:
      *handle = nullptr;
      return kSuccess;
  }
}

Result stop(void* handle) {
  Recorder* recorder = listener().recorder();
  if (handle != nullptr && recorder != nullptr) recorder->stop(handle);
  return kSuccess;
}

Result record_state(void* handle, int state, StateArguments* arguments) {
  Recorder* recorder = listener().recorder();
  if (handle != nullptr && recorder != nullptr && state == kStateChannelStop && arguments != nullptr) {
    recorder->device_stop(handle, arguments->device_ns);
  }
  return kSuccess;
}

Result init_v4(void** context, int* mask, const char* name, uint64_t hash, int nodes, int ranks, int rank, Logger) {
  return join(context, mask, name, hash, nodes, ranks, rank);
}

Result init_v5(void** context, uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank, Logger) {
  return join(context, mask, name, hash, nodes, ranks, rank);
}

__attribute__((destructor)) void remove_files() { listener().close(); }

}  // namespace
}  // namespace eroica::nccl

extern "C" {
__attribute__((visibility("default"))) extern const eroica::nccl::ProfilerV4 ncclProfiler_v4;
const eroica::nccl::ProfilerV4 ncclProfiler_v4 = {
    "eroica",           eroica::nccl::init_v4,      eroica::nccl::start_event<eroica::nccl::EventV4>,
    eroica::nccl::stop, eroica::nccl::record_state, eroica::nccl::leave};
__attribute__((visibility("default"))) extern const eroica::nccl::ProfilerV5 ncclProfiler_v5;
const eroica::nccl::ProfilerV5 ncclProfiler_v5 = {
    "eroica",           eroica::nccl::init_v5,      eroica::nccl::start_event<eroica::nccl::EventV5>,
    eroica::nccl::stop, eroica::nccl::record_state, eroica::nccl::leave};
}
