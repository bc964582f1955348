#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace eroica {

/// The end of one barrier-like collective (all members end together) on one rank's own clock.
struct CollectiveEnd {
  uint64_t key = 0;       ///< what must be equal on both ranks: the group, the kind
  int64_t sequence = -1;  ///< the group's sequence number, −1 = none was recorded
  int64_t end_ns = 0;
};

enum class AlignedBy : uint8_t {
  kNothing,    ///< not aligned
  kSequence,   ///< sequence numbers
  kIntervals,  ///< the fingerprint of the intervals between ends
};

[[nodiscard]] std::string_view aligned_by_name(AlignedBy by);  ///< "nothing", "sequence", "intervals"

/// How two ranks' clocks stand to each other.
struct ClockAlignment {
  AlignedBy by = AlignedBy::kNothing;
  int64_t offset_ns = 0;   ///< to add to the other rank's times to have them on the reference's clock; 0 = unknown
  size_t matched = 0;      ///< collectives that were matched
  int64_t spread_ns = 0;   ///< the offset's error: nine of ten of their differences deviate from it by less
  double correlation = 0;  ///< by intervals: at the offset
  std::string why;         ///< in words: how it was found, or why it was not
};

/// Finds how far the other rank's clock is from the reference's, from collectives that both took part in.
/// Those with sequence numbers are matched by key and number. Where none match, one key's ends are matched by the
/// intervals between them, whose noise both ranks share: at the right lag the differences between the ranks' ends
/// hardly vary, at any other lag steps of different length meet. The lag is taken when the deviation of the differences
/// is at most 0.6 of that at any other lag, the intervals correlate by 0.5 or more, and at least 8 intervals and half
/// of the shorter rank's overlap. The offset is the median of the differences of matched ends.
/// The ends may come in any order; neither rank's order matters.
ClockAlignment align_clocks(std::span<const CollectiveEnd> reference, std::span<const CollectiveEnd> other);

}  // namespace eroica
