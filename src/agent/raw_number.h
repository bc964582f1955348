#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace eroica {

/// The number that stands at an offset of a datagram in this machine's byte order. All of it must be there.
template <typename Number>
Number number_at(std::string_view bytes, size_t offset) {
  Number value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace eroica
