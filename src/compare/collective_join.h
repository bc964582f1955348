#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compare/clock_alignment.h"
#include "pattern/pattern.h"

namespace eroica {

/// What a member did in the instances of a collective that were joined. Means over them.
struct JoinedMember {
  int32_t rank = -1;
  uint32_t summary = 0;  ///< in RankPattern::collectives of the rank
  double late_us = 0;    ///< it came so much later than the others' median
  double wait_us = 0;    ///< from its coming until the last one came
};

/// One kind of collective in one group (or the messages from one rank to another), instance by instance over its
/// members. All members of an instance end together, so that on whatever clock its duration is counted a member came
/// the later the shorter it was: the shortest is the transfer, and what others took longer they waited.
struct JoinedCollective {
  std::string kind;  ///< with its dtype: "all_reduce float"; "message"
  std::string group;
  AlignedBy by = AlignedBy::kNothing;
  size_t joined = 0;                  ///< instances that all aligned members have
  size_t seen = 0;                    ///< that the member with most of them has …
  double window_ms = 0;               ///< … in a window of this length
  double last_us = 0;                 ///< mean duration of the last member's to come: of the transfer
  double error_us = 0;                ///< nine of ten ends differ by less from each other
  std::vector<JoinedMember> members;  ///< by rank; of whom the instances were joined
  std::vector<int32_t> apart;         ///< members that could not be aligned, ascending
  std::string why;                    ///< in words: how they were aligned, or why they were not
};

/// Joins what all members of a group wait for (is_barrier()) and messages between two ranks by their pair, by sequence
/// numbers or by the intervals between their ends (align_clocks()). A group whose members are not told is joined where
/// no more ranks know it than it has members. In order of the groups' first members.
std::vector<JoinedCollective> join_collectives(std::span<const RankPattern> patterns);

}  // namespace eroica
