#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/nccl_ring_format.h"

namespace eroica {

// What the plugin for NCCL recorded (nccl/), as the agent asks for it and reads it. Nothing that stands in a ring is
// trusted.

/// The owners, "PID-RANDOM", of the plugins that listen in a job's folder.
std::vector<std::string> nccl_plugins_in(const std::string& sockets);
std::string nccl_socket_in(const std::string& sockets, const std::string& owner);
std::string nccl_ring_in(const std::string& sockets, const std::string& owner);

/// The datagram that asks for a window.
std::string encode_nccl_request(int64_t start_unix_ns, int64_t end_unix_ns);

/// A window of one process.
struct NcclWindow {
  int64_t rank = nccl::kNoRank;  ///< as its environment said
  uint64_t epoch = 0;            ///< windows so far
  uint64_t lost = 0;             ///< events for which there was no room
  uint64_t damaged = 0;          ///< records that do not hold
  std::vector<nccl::Communicator> communicators;
  std::vector<nccl::Record> records;
};
/// What a ring holds of its last window; nullopt: it is no ring.
std::optional<NcclWindow> read_nccl_ring(const std::string& path);

/// The same as a trace that viewers open beside the rank's own: one line for the calls, one for each channel and for
/// each channel's proxy operations.
std::string nccl_trace_json(const NcclWindow& window, int32_t rank);

}  // namespace eroica
