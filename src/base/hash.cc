#include "base/hash.h"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace eroica {

uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t hash_combine(uint64_t a, uint64_t b) {
  const std::array<uint64_t, 2> both{a, b};
  return XXH3_64bits(both.data(), sizeof(both));
}

}  // namespace eroica
