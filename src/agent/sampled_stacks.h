#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

struct SampledStacks {
  std::string json;          ///< a trace of the main thread's Python functions, in Kineto's form
  bool cut = false;          ///< the document does not end as one; what stands before that is kept
  uint64_t left_out = 0;     ///< calls beyond what is kept of one thread
  int64_t last_unix_ns = 0;  ///< until when there are samples
};

/// From what `py-spy record --format chrometrace --function --threads` wrote (successive samples of one stack are one
/// there). `pid`: of the sampled process. `began_unix_ns`: when py-spy began, from which its times count. nullopt: no
/// such document, or no main thread in it.
std::optional<SampledStacks> sampled_stacks(std::string_view chrome_trace, int64_t pid, int64_t began_unix_ns);

}  // namespace eroica
