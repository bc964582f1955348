#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "steps/step_record.h"
#include "trace/bundle.h"
#include "trace/trace.h"

namespace eroica {

// What probes say and are told (probe/PROTOCOL.md). What comes in is not trusted; ranks and pids are the process's own
// words.

inline constexpr size_t kMostProbeBytes = 60'000;

struct StepMessage {
  StepRecord record;
  uint64_t dropped = 0;  ///< datagrams that the process could not send so far
  uint32_t probe_cost_ns = 0;
  uint32_t optimizer_index = 0;
};

struct HelloMessage {
  int64_t pid = -1;   ///< as the process sees it
  int32_t rank = -1;  ///< −1: not known
  int32_t world_size = -1;
  int32_t local_rank = -1;
  bool launcher = false;
  std::string host;
  std::string program;
  std::string python;
  std::string torch;
  std::string cuda;         ///< that torch was built for; empty: none
  std::string hip;          ///< the same
  std::optional<bool> gpu;  ///< its process computes on a GPU by now; absent: it does not tell
  int64_t restart_count = -1;
  bool step_hook = false;
  bool flight_recorder = false;
  bool kineto_daemon = false;
  bool profile = false;
  int32_t stack_signal = -1;
  std::string stack_file;  ///< a name in the folder; empty: none
  std::map<std::string, std::string> env;

  /// It computes on a GPU; where it did not tell: its torch can.
  [[nodiscard]] bool on_gpu() const { return (!cuda.empty() || !hip.empty()) && gpu.value_or(true); }
};

struct GroupsMessage {
  int32_t rank = -1;
  int64_t set = 0;
  int64_t part = 0;
  int64_t parts = 1;
  std::vector<ProcessGroup> groups;  ///< ranks in the group's order
};

struct EdgeMessage {
  int32_t rank = -1;
  std::string window;
  bool end = false;
  bool job_profiles = false;  ///< the job's own profiler is active
  WindowEdge read;            ///< groups without a name are left out; of several parts each has its own
};

struct ReplyMessage {
  std::string request;
  bool ok = false;
  bool late = false;
  std::string error;
  std::string path;
};

struct ByeMessage {
  int32_t rank = -1;
  int64_t steps = 0;
  std::string exception;  ///< its type; empty: an ordinary exit
  std::string file;
  int32_t line = 0;
  std::optional<int> status;  ///< that it exits with, 0 to 255; absent: it does not know
};

struct OffMessage {
  int32_t rank = -1;
  std::string reason;
};

using ProbeMessage =
    std::variant<StepMessage, HelloMessage, GroupsMessage, EdgeMessage, ReplyMessage, ByeMessage, OffMessage>;

inline constexpr size_t kStepBytes = 64;

/// The 64 bytes of a step. nullopt: they do not hold, since nothing was written there yet, or half of it.
std::optional<StepMessage> decode_step(std::string_view bytes);

/// nullopt: no message of a probe, or a broken one. Keys that are absent or of a wrong kind have their defaults.
std::optional<ProbeMessage> decode_probe(std::string_view datagram);

std::string encode_hello();
std::string encode_groups();
std::string encode_window(std::string_view window, int64_t start_unix_ns, int64_t end_unix_ns);
std::string encode_flight_recorder(std::string_view request, std::string_view path);
std::string encode_profile(std::string_view request, std::string_view path, int64_t start_unix_ns, int64_t end_unix_ns,
                           bool with_stack, bool record_shapes);

}  // namespace eroica
