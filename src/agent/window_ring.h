#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "steps/policy.h"

namespace eroica {

/// A window that is kept.
struct KeptWindow {
  std::string name;
  uint64_t bytes = 0;
  int64_t unix_ns = 0;  ///< when it was taken
};

/// "20261130T142230Z-window-3": in the order of time.
std::string kept_name(std::string_view window, int64_t unix_ns);
/// Whether a name is one of those, of a thing that is called so and has a number; what has others is left alone.
bool is_kept_name(std::string_view name, std::string_view thing = "window-");

/// Which have to go so that one of `coming_bytes` more may be kept, the oldest first. `coming_bytes` 0: none comes.
/// `free_bytes`: of the file system.
std::vector<std::string> windows_to_remove(std::vector<KeptWindow> kept, uint64_t coming_bytes, uint64_t free_bytes,
                                           const KeepPolicy& policy, int64_t now_unix_ns);

}  // namespace eroica
