#include "pattern/wire_reader.h"

#include <cstddef>

namespace eroica {

WireReader::Varint WireReader::read_varint_bytewise(const char* at, const char* end) {
  constexpr int kMostBits = 64;
  uint64_t sum = 0;
  for (int shift = 0; shift < kMostBits && at < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    sum |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return {at, sum};
  }
  return {kNone, 0};
}

bool WireReader::append_packed_varints(std::string_view packed, std::vector<uint64_t>& column) {
  const char* at = packed.data();
  const char* const end = at + packed.size();
  size_t size = column.size();
  column.resize(size + packed.size());  // each takes a byte at least
  while (at < end) {
    // Most columns are of small numbers throughout, or of large ones.
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x80) {
      column[size++] = byte;
      ++at;
      continue;
    }
    const Varint number = read_varint(at, end);
    if (number.behind == kNone) break;
    column[size++] = number.value;
    at = number.behind;
  }
  column.resize(size);
  return at == end;
}

namespace {

template <typename Value>
bool append_values(std::string_view packed, std::vector<Value>& column) {
  if (packed.size() % sizeof(Value) != 0) return false;
  const size_t before = column.size();
  column.resize(before + packed.size() / sizeof(Value));
  if (!packed.empty()) std::memcpy(column.data() + before, packed.data(), packed.size());
  return true;
}

}  // namespace

bool WireReader::append_packed(std::string_view packed, std::vector<uint64_t>& column) {
  return append_values(packed, column);
}

bool WireReader::append_packed(std::string_view packed, std::vector<float>& column) {
  return append_values(packed, column);
}

}  // namespace eroica
