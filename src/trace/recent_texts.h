#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/string_table.h"

namespace eroica {

/// The ids of texts that came lately, found without hashing all of them: most events are called what one before was.
class RecentTexts {
 public:
  explicit RecentTexts(StringTable& table) : table_(table) {}

  /// Whether the text is known; then with its id in the table.
  bool find(std::string_view text, uint32_t& id) const {
    if (text.size() < sizeof(uint64_t)) return false;
    const Entry& entry = entries_[slot_of(text)];
    id = entry.id;
    return entry.text == text;
  }

  /// The id in the table of a text that find() did not know.
  uint32_t intern(std::string_view text) {
    const uint32_t id = table_.intern(text);
    if (text.size() >= sizeof(uint64_t) && id != StringTable::kOverflow)
      entries_[slot_of(text)] = {table_.text(id), id};
    return id;
  }

 private:
  struct Entry {
    std::string_view text;
    uint32_t id = StringTable::kEmpty;
  };

  static size_t slot_of(std::string_view text) {
    const auto word = [&](size_t at) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, text.data() + at, sizeof(bytes));
      return bytes;
    };
    const size_t last = text.size() - sizeof(uint64_t);
    return ((word(0) ^ word(last / 2) * 31 ^ word(last) * 127) + text.size()) * 0x9e3779b97f4a7c15U >> 54;
  }

  StringTable& table_;
  std::array<Entry, 1024> entries_;
};

}  // namespace eroica
