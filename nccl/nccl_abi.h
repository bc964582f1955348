#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// What is used of NCCL's interface for profiler plugins, versions 4 and 5, as NCCL documents it; declared here so that
// the plugin needs nothing of NCCL to be built.
namespace eroica::nccl {

using Result = int;
inline constexpr Result kSuccess = 0;

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

// Kinds of events; bits of the mask as well.
inline constexpr uint64_t kGroup = 1U << 0;
inline constexpr uint64_t kCollective = 1U << 1;
inline constexpr uint64_t kPointToPoint = 1U << 2;
inline constexpr uint64_t kProxyOperation = 1U << 3;
inline constexpr uint64_t kKernelChannel = 1U << 6;

inline constexpr int kStateProxyInProgress = 19;
inline constexpr int kStateChannelStop = 22;

struct CollectiveV4 {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct PointToPointV4 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
};

struct ProxyOperation {
  pid_t pid;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct KernelChannel {
  uint8_t channel;
  uint64_t device_ns;
};

struct EventV4 {
  uint8_t type;
  void* parent;
  int rank;
  union {
    CollectiveV4 collective;
    PointToPointV4 point_to_point;
    ProxyOperation proxy;
    KernelChannel kernel;
  };
};
static_assert(offsetof(EventV4, collective) == 24 && sizeof(CollectiveV4) == 80 && sizeof(EventV4) == 104);

struct CollectiveV5 {
  CollectiveV4 as_before;
  void* parent_group;
};

struct PointToPointV5 {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
  void* parent_group;
};

struct EventV5 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    CollectiveV5 collective;
    PointToPointV5 point_to_point;
    ProxyOperation proxy;
    KernelChannel kernel;
  };
};
static_assert(offsetof(EventV5, collective) == 24 && sizeof(EventV5) == 112);

union StateArguments {
  size_t bytes;
  int appended;
  void* data;
  uint64_t device_ns;
};

struct ProfilerV4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* name, uint64_t hash, int nodes, int ranks, int rank,
                 Logger logger);
  Result (*start_event)(void* context, void** handle, EventV4* event);
  Result (*stop_event)(void* handle);
  Result (*record_state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

struct ProfilerV5 {
  const char* name;
  Result (*init)(void** context, uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
                 Logger logger);
  Result (*start_event)(void* context, void** handle, EventV5* event);
  Result (*stop_event)(void* handle);
  Result (*record_state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

}  // namespace eroica::nccl
