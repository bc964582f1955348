#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// Datagrams by which Kineto's clients inside training processes ask a daemon for work. What comes in is not trusted.

/// What a client says.
struct FabricRequest {
  enum class Kind : uint8_t {
    kContext,        ///< it registers; older clients wait for the number of instances
    kConfiguration,  ///< it asks whether it is to profile
  };
  Kind kind = Kind::kConfiguration;
  int32_t types = 0;          ///< of a kConfiguration: what it could profile now; 0 = a trace is active
  int64_t job = 0;            ///< SLURM_JOB_ID, or 0
  std::vector<int32_t> pids;  ///< as it sees them: itself, then its ancestors
};

/// nullopt: none, or broken.
std::optional<FabricRequest> decode_fabric(std::string_view datagram);

/// The answer to a kConfiguration; an empty text means that there is nothing to do.
std::string encode_configuration(std::string_view text);
/// The answer to a kContext.
std::string encode_instance_count(int32_t count);

/// One process's part in a window.
struct KinetoWindow {
  std::string path;  ///< ends in .json; the client puts "_PID" before that. Holds neither '=' nor line ends.
  int64_t start_unix_ms = 0;
  int64_t duration_ms = 0;
  int64_t warm_up_s = 1;
  bool with_stack = true;
  bool record_shapes = true;
};

/// The text that makes a client profile. Empty where the path cannot be written in it.
std::string configuration_text(const KinetoWindow& window);

}  // namespace eroica
