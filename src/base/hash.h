#pragma once

#include <cstdint>
#include <string_view>

namespace eroica {

/// 64-bit XXH3 of the bytes. The same on every machine and in every version: it goes over the wire.
uint64_t hash_bytes(std::string_view bytes);

/// Mixes two hashes; order matters. Stable like hash_bytes.
uint64_t hash_combine(uint64_t a, uint64_t b);

}  // namespace eroica
