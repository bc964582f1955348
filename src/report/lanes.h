#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eroica {

/// Spreads a track's events over lanes in which they nest: viewers draw one lane as a call stack and drop what crosses
/// its parent's end. Events come by start, longest first.
class Lanes {
 public:
  static constexpr size_t kMost = 32;

  struct Place {
    size_t lane;
    int64_t end_ns;  ///< the event's end, moved to its parent's where it crosses that by rounding
  };
  /// Where an event goes. When all lanes are taken, it is cut at its parent's end.
  Place place(int64_t start_ns, int64_t end_ns);
  [[nodiscard]] size_t count() const { return open_ends_.size(); }

 private:
  std::vector<std::vector<int64_t>> open_ends_;  // per lane, outermost first
};

}  // namespace eroica
