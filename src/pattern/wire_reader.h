#pragma once

#include <bit>
#include <cstdint>
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
  void append_varints(std::vector<uint64_t>& column);
  void append_fixed64(std::vector<uint64_t>& column);
  void append_reals(std::vector<float>& column);

  [[nodiscard]] bool damaged() const { return damaged_; }

  static int64_t unzigzag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }

 private:
  enum Type : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  static constexpr uint32_t kTypeBits = 3;

  [[nodiscard]] Type type() const { return static_cast<Type>(tag_ & ((1U << kTypeBits) - 1)); }
  bool is(Type expected);
  bool fail();
  template <typename Value>
  void append_fixed(Type single, std::vector<Value>& column);

  const char* at_;
  const char* end_;
  uint32_t tag_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
  bool damaged_ = false;
};

}  // namespace eroica
