#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pattern/pattern.h"

namespace eroica {

/// What is equal for a group on all of its members, and differs between groups as far as that is told.
std::string group_key(const GroupPattern& group);

/// The rank that a send or receive of the group names: it is told as a rank of its group or of the job, and without a
/// list of ranks, or where the group spans the job, both are the same. Absent: it is none of either.
std::optional<int32_t> peer_rank(const GroupPattern& group, int32_t peer);

}  // namespace eroica
