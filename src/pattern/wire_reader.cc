#include "pattern/wire_reader.h"

#include <cstddef>
#include <cstring>
#include <limits>

namespace eroica {
namespace {

static_assert(std::endian::native == std::endian::little);

/// None of the bytes up to `end` from `at`: no number that ends, or one of more than 64 bits.
constexpr const char* kNone = nullptr;

/// Behind the number that begins at `at`.
const char* read_varint(const char* at, const char* end, uint64_t& value) {
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

template <typename Value>
Value load(const char* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

bool WireReader::fail() {
  damaged_ = true;
  at_ = end_;
  return false;
}

bool WireReader::is(Type expected) { return type() == expected || fail(); }

bool WireReader::next() {
  if (at_ == end_) return false;
  uint64_t number = 0;
  at_ = read_varint(at_, end_, number);
  if (at_ == kNone || number > std::numeric_limits<uint32_t>::max() || (number >> kTypeBits) == 0) return fail();
  tag_ = static_cast<uint32_t>(number);
  const auto left = static_cast<size_t>(end_ - at_);
  switch (type()) {
    case kVarint: at_ = read_varint(at_, end_, value_); return at_ != kNone || fail();
    case kBytes: {
      uint64_t size = 0;
      at_ = read_varint(at_, end_, size);
      if (at_ == kNone || size > static_cast<size_t>(end_ - at_)) return fail();
      bytes_ = {at_, static_cast<size_t>(size)};
      at_ += size;
      return true;
    }
    case kFixed32:
      if (left < sizeof(uint32_t)) return fail();
      value_ = load<uint32_t>(at_);
      at_ += sizeof(uint32_t);
      return true;
    case kFixed64:
      if (left < sizeof(uint64_t)) return fail();
      value_ = load<uint64_t>(at_);
      at_ += sizeof(uint64_t);
      return true;
  }
  return fail();  // the deprecated groups, and types that there are not
}

void WireReader::append_varints(std::vector<uint64_t>& column) {
  if (type() == kVarint) {
    column.push_back(value_);
    return;
  }
  const std::string_view packed = bytes();
  const char* at = packed.data();
  const char* const end = at + packed.size();
  while (at < end) {
    uint64_t value = 0;
    at = read_varint(at, end, value);
    if (at == kNone) {
      fail();
      return;
    }
    column.push_back(value);
  }
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
