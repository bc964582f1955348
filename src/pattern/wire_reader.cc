#include "pattern/wire_reader.h"

#include <cstddef>

namespace eroica {

const char* WireReader::read_varint_bytewise(const char* at, const char* end, uint64_t& value) {
  constexpr int kMostBits = 64;
  uint64_t sum = 0;
  for (int shift = 0; shift < kMostBits && at < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    sum |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) {
      value = sum;
      return at;
    }
  }
  return kNone;
}

bool WireReader::fail() {
  damaged_ = true;
  at_ = end_;
  return false;
}

void WireReader::append_varints(std::vector<uint64_t>& column) {
  if (type() == kVarint) {
    column.push_back(value_);
    return;
  }
  const std::string_view packed = bytes();
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
    at = read_varint(at, end, column[size]);
    if (at == kNone) {
      fail();
      break;
    }
    ++size;
  }
  column.resize(size);
}

template <typename Value>
void WireReader::append_fixed(Type single, std::vector<Value>& column) {
  if (type() == single) {
    if constexpr (sizeof(Value) == sizeof(uint64_t)) {
      column.push_back(std::bit_cast<Value>(value_));
    } else {
      column.push_back(std::bit_cast<Value>(static_cast<uint32_t>(value_)));
    }
    return;
  }
  const std::string_view packed = bytes();
  if (packed.size() % sizeof(Value) != 0) {
    fail();
    return;
  }
  const size_t before = column.size();
  column.resize(before + packed.size() / sizeof(Value));
  if (!packed.empty()) std::memcpy(column.data() + before, packed.data(), packed.size());
}

void WireReader::append_fixed64(std::vector<uint64_t>& column) { append_fixed(kFixed64, column); }
void WireReader::append_reals(std::vector<float>& column) { append_fixed(kFixed32, column); }

}  // namespace eroica
