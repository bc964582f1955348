#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace eroica {

/// "rank 3", "ranks 0-3, 7": for people, runs joined, at most a dozen runs. `ranks` ascending or not.
std::string rank_list(std::span<const int32_t> ranks);

/// The same for what is missing from 0 … world_size − 1; empty when nothing is. `present` ascending.
std::string missing_ranks(std::span<const int32_t> present, int32_t world_size);

}  // namespace eroica
