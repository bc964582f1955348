#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace eroica {

/// Reads a message of the protobuf wire format (protobuf.dev/programming-guides/encoding) where it lies: no objects, no
/// copies. Patterns are hundreds of small messages each, and building those took most of the time of reading them.
/// Fields come in the order of the bytes; what a field is called and means is the caller's business. Bytes that are no
/// message, and a field that is asked for as what it is not, end the reading: damaged().
class WireReader {
 public:
  explicit WireReader(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  /// Moves on to the next field; false at the end and behind damage.
  bool next();
  [[nodiscard]] uint32_t field() const { return tag_ >> kTypeBits; }

  // The value of the field.
  uint64_t varint() { return is(kVarint) ? value_ : 0; }
  uint32_t varint32() { return static_cast<uint32_t>(varint()); }
  int64_t zigzag() { return unzigzag(varint()); }
  uint32_t fixed32() { return is(kFixed32) ? static_cast<uint32_t>(value_) : 0; }
  float real() { return std::bit_cast<float>(fixed32()); }
  std::string_view bytes() { return is(kBytes) ? bytes_ : std::string_view(); }

  // The values of a repeated field, whether packed or not, behind those that `column` holds.
  void append_varints(std::vector<uint64_t>& column) {
    if (type() == kVarint) {
      column.push_back(value_);
    } else if (!is(kBytes) || !append_packed_varints(bytes_, column)) {
      fail();
    }
  }
  void append_fixed64(std::vector<uint64_t>& column) {
    if (type() == kFixed64) {
      column.push_back(value_);
    } else if (!is(kBytes) || !append_packed(bytes_, column)) {
      fail();
    }
  }
  void append_reals(std::vector<float>& column) {
    if (type() == kFixed32) {
      column.push_back(real());
    } else if (!is(kBytes) || !append_packed(bytes_, column)) {
      fail();
    }
  }

  [[nodiscard]] bool damaged() const { return damaged_; }

  static int64_t unzigzag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }

 private:
  enum Type : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  static constexpr uint32_t kTypeBits = 3;
  /// None of the bytes: no number that ends, or one of more than 64 bits.
  static constexpr const char* kNone = nullptr;

  // What is called instead of being put in place gets no address of a reader, so that readers are kept in registers.

  struct Varint {
    const char* behind;
    uint64_t value;
  };
  template <typename Value>
  static Value load(const char* at);
  static Varint read_varint(const char* at, const char* end);
  static Varint read_short_varint(const char* at, const char* end);
  static Varint read_varint_bytewise(const char* at, const char* end);
  // False: they are damaged; what is before the damage is there.
  static bool append_packed_varints(std::string_view packed, std::vector<uint64_t>& column);
  static bool append_packed(std::string_view packed, std::vector<uint64_t>& column);
  static bool append_packed(std::string_view packed, std::vector<float>& column);

  [[nodiscard]] Type type() const { return static_cast<Type>(tag_ & ((1U << kTypeBits) - 1)); }
  bool is(Type expected) { return type() == expected || fail(); }
  bool fail() {
    damaged_ = true;
    at_ = end_;
    return false;
  }

  const char* at_;
  const char* end_;
  uint32_t tag_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
  bool damaged_ = false;
};

// What runs for every field stands here, so that it becomes part of the loops over them.

template <typename Value>
Value WireReader::load(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// The number that begins at `at`, and what is behind it.
[[gnu::always_inline]] inline WireReader::Varint WireReader::read_varint(const char* at, const char* end) {
  // Eight bytes at once: those up to the first without its highest bit are the number, seven bits each. Lengths vary
  // from one to the next, and a wrong guess of when a loop ends takes longer than all of this.
  if (end - at >= static_cast<ptrdiff_t>(sizeof(uint64_t))) {
    auto bits = load<uint64_t>(at);
    const uint64_t lasts = ~bits & 0x8080808080808080U;
    if (lasts != 0) {
      bits &= (lasts ^ (lasts - 1)) & 0x7f7f7f7f7f7f7f7fU;
      bits = (bits & 0x007f007f007f007fU) | ((bits & 0x7f007f007f007f00U) >> 1);
      bits = (bits & 0x00003fff00003fffU) | ((bits & 0x3fff00003fff0000U) >> 2);
      bits = (bits & 0x000000000fffffffU) | ((bits & 0x0fffffff00000000U) >> 4);
      return {at + std::countr_zero(lasts) / 8 + 1, bits};
    }
  }
  return read_varint_bytewise(at, end);
}

/// The same, for numbers that are mostly of one byte.
[[gnu::always_inline]] inline WireReader::Varint WireReader::read_short_varint(const char* at, const char* end) {
  if (at == end || static_cast<unsigned char>(*at) >= 0x80) return read_varint_bytewise(at, end);
  return {at + 1, static_cast<unsigned char>(*at)};
}

[[gnu::always_inline]] inline bool WireReader::next() {
  if (at_ == end_) return false;
  const Varint tag = read_short_varint(at_, end_);
  if (tag.behind == kNone || tag.value > std::numeric_limits<uint32_t>::max()) return fail();
  if ((tag.value >> kTypeBits) == 0) return fail();
  tag_ = static_cast<uint32_t>(tag.value);
  at_ = tag.behind;
  switch (type()) {
    case kVarint: {
      const Varint number = read_varint(at_, end_);
      if (number.behind == kNone) return fail();
      value_ = number.value;
      at_ = number.behind;
      return true;
    }
    case kBytes: {
      const Varint size = read_short_varint(at_, end_);
      if (size.behind == kNone || size.value > static_cast<size_t>(end_ - size.behind)) return fail();
      bytes_ = {size.behind, static_cast<size_t>(size.value)};
      at_ = size.behind + size.value;
      return true;
    }
    case kFixed32:
      if (static_cast<size_t>(end_ - at_) < sizeof(uint32_t)) return fail();
      value_ = load<uint32_t>(at_);
      at_ += sizeof(uint32_t);
      return true;
    case kFixed64:
      if (static_cast<size_t>(end_ - at_) < sizeof(uint64_t)) return fail();
      value_ = load<uint64_t>(at_);
      at_ += sizeof(uint64_t);
      return true;
  }
  return fail();  // the deprecated groups, and types that there are not
}

}  // namespace eroica
