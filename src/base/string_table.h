#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

/// Interned strings: equal texts get equal ids. Id 0 is always the empty string.
/// The table never holds more than `max_bytes` of text or `max_entries` entries: beyond that `intern` answers
/// `kOverflow` (whose text is "(other)"), so hostile input cannot make it grow without bound.
class StringTable {
 public:
  static constexpr uint32_t kEmpty = 0;
  static constexpr uint32_t kOverflow = 1;

  explicit StringTable(size_t max_bytes = size_t{24} << 20, size_t max_entries = size_t{1} << 18);

  /// The id of `text`, which is copied if new.
  uint32_t intern(std::string_view text) { return intern(text, hash(text)); }
  uint32_t intern(std::string_view text, uint64_t text_hash);
  static uint64_t hash(std::string_view text);

  [[nodiscard]] std::string_view text(uint32_t id) const { return entries_[id].text; }
  [[nodiscard]] uint64_t text_hash(uint32_t id) const { return entries_[id].hash; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  /// How many calls of intern were answered with kOverflow.
  [[nodiscard]] uint64_t overflows() const { return overflows_; }

 private:
  struct Entry {
    uint64_t hash;
    std::string_view text;
  };
  void rehash(size_t slots);

  size_t max_bytes_;
  size_t max_entries_;
  size_t bytes_ = 0;
  uint64_t overflows_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // open addressing; 0 = free, else id + 1
  std::deque<std::unique_ptr<char[]>> chunks_;
  size_t chunk_left_ = 0;
  char* chunk_next_ = nullptr;
};

}  // namespace eroica
