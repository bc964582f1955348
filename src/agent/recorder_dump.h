#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

/// How far a rank is in one process group, by its flight recorder.
struct RecorderGroup {
  std::string name;
  std::string desc;
  int64_t enqueued = -1;   ///< sequence number of the last collective; −1: none yet
  int64_t completed = -1;  ///< … that has ended
  std::string operation;   ///< of the last enqueued: "all_reduce"; empty: not kept
  std::string sizes;       ///< its tensors' sizes as compact JSON
};

/// Reads torch's flight recorder document; empty where it is none. What comes in is not trusted.
std::vector<RecorderGroup> parse_recorder(std::string_view json);

}  // namespace eroica
