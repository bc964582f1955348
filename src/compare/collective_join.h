#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compare/clock_alignment.h"
#include "pattern/pattern.h"

namespace eroica {

/// What a member did in the instances of a collective that were joined.
struct JoinedMember {
  int32_t rank = -1;
  uint32_t summary = 0;  ///< in RankPattern::collectives of the rank
  double per_step = 0;   ///< instances a complete step, those that run at once counted once in proportion; of the
                         ///< window where it has no such step
  double late_us = 0;    ///< it came so much later than the others' median, mean over the joined ones
  double wait_us = 0;    ///< from its coming until the last one came, likewise
};

/// One kind of collective in one group (or the messages from one rank to another), instance by instance over its
/// members. All members of an instance end together, so that on whatever clock its duration is counted a member came
/// the later the shorter it was: the shortest is the transfer, and what others took longer they waited.
struct JoinedCollective {
  std::string kind;  ///< with its dtype: "all_reduce float", "message float"
  std::string group;
  AlignedBy by = AlignedBy::kNothing;
  bool whole = false;                 ///< all members of the group were joined
  size_t joined = 0;                  ///< instances that all of `members` have
  size_t seen = 0;                    ///< that the member with most of them has
  double last_us = 0;                 ///< mean duration of the last member's to come: of the transfer
  double error_us = 0;                ///< nine of ten ends differ by less from each other
  std::vector<JoinedMember> members;  ///< by rank; of whom instances were joined
  std::string why;                    ///< in words: how they were aligned, or why some were not

  /// So many were joined that they stand for all.
  [[nodiscard]] bool is_telling() const { return joined >= 8 && 4 * joined >= seen; }
};

/// Joins what all members of a group wait for (is_barrier()) and messages between two ranks by their pair, by sequence
/// numbers or by the intervals between their ends (align_clocks()). What the window cut is left out. A group whose
/// members are not told is joined where no more ranks know it than it is said to have. In order of the groups' first
/// members.
std::vector<JoinedCollective> join_collectives(std::span<const RankPattern> patterns);

}  // namespace eroica
