#include "base/string_table.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace eroica {
namespace {
constexpr size_t kChunkBytes = size_t{64} << 10;
constexpr std::string_view kOverflowText = "(other)";
}  // namespace

StringTable::StringTable(size_t max_bytes, size_t max_entries) : max_bytes_(max_bytes), max_entries_(max_entries) {
  rehash(1024);
  intern("");
  intern(kOverflowText);
  bytes_ = 0;
}

uint64_t StringTable::hash(std::string_view text) { return hash_bytes(text); }

uint32_t StringTable::intern(std::string_view text, uint64_t text_hash) {
  size_t mask = slots_.size() - 1;
  size_t slot = text_hash & mask;
  while (slots_[slot] != 0) {
    const Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == text_hash && entry.text == text) {
      return slots_[slot] - 1;
    }
    slot = (slot + 1) & mask;
  }
  if (entries_.size() >= 2 && (entries_.size() >= max_entries_ || bytes_ + text.size() > max_bytes_)) {
    ++overflows_;
    return kOverflow;
  }
  if (chunk_left_ < text.size()) {
    chunk_left_ = std::max(kChunkBytes, text.size());
    chunks_.push_back(std::make_unique<char[]>(chunk_left_));
    chunk_next_ = chunks_.back().get();
  }
  if (!text.empty()) {
    std::memcpy(chunk_next_, text.data(), text.size());
  }
  entries_.push_back({text_hash, {chunk_next_, text.size()}});
  chunk_next_ += text.size();
  chunk_left_ -= text.size();
  bytes_ += text.size();
  slots_[slot] = static_cast<uint32_t>(entries_.size());
  if (entries_.size() * 2 > slots_.size()) {
    rehash(slots_.size() * 2);
  }
  return static_cast<uint32_t>(entries_.size() - 1);
}

void StringTable::rehash(size_t slots) {
  slots_.assign(slots, 0);
  for (uint32_t id = 0; id < entries_.size(); ++id) {
    size_t slot = entries_[id].hash & (slots - 1);
    while (slots_[slot] != 0) {
      slot = (slot + 1) & (slots - 1);
    }
    slots_[slot] = id + 1;
  }
}

}  // namespace eroica
