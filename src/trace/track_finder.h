#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace eroica {

/// Finds the track of an event by process, thread and side (host or device), and makes it when it is new. Host and
/// device are kept apart since a host thread can be called 0 in process 0 as well.
class TrackFinder {
 public:
  static constexpr size_t kMaxTracks = 65536;

  explicit TrackFinder(std::vector<Track>& tracks) : tracks_(tracks) {}

  struct Found {
    uint32_t track;
    bool overflow;  ///< there are too many: this is the one track "(other)"
  };
  /// `pid` and `tid` are tokens as written; 5 and "5" are the same.
  Found find(std::string_view pid, std::string_view tid, bool device);
  /// The track if there is one, else −1.
  [[nodiscard]] int64_t find_existing(std::string_view pid, std::string_view tid, bool device);

 private:
  struct Recent {
    std::string pid;
    std::string tid;
    Found found{};
    bool device = false;
    bool used = false;
  };
  Found find_or_make(std::string_view pid, std::string_view tid, bool device);
  void make_key(std::string_view pid, std::string_view tid, bool device);

  std::vector<Track>& tracks_;
  std::array<Recent, 64> recent_;
  boost::unordered_flat_map<std::string, uint32_t> by_key_;
  std::string key_;
};

/// A pid or tid as people write it: quotes removed, escapes resolved.
std::string plain_id(std::string_view token);

}  // namespace eroica
