#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/string_table.h"
#include "pattern/pattern.h"

namespace eroica {

/// Counts distinct shapes by their hashes, up to kMostShapes.
class DistinctShapes {
 public:
  void add(uint64_t hash) {
    if (count_ == kMostShapes) {
      return;
    }
    hash = std::max<uint64_t>(hash, 1);  // 0 marks a free place
    if (!table_.empty()) {
      for (size_t at = hash; table_[at & (table_.size() - 1)] != 0; ++at) {
        if (table_[at & (table_.size() - 1)] == hash) {
          return;
        }
      }
    }
    insert(hash);
  }
  [[nodiscard]] uint32_t count() const { return count_; }

 private:
  void insert(uint64_t hash);
  void place(uint64_t hash);

  std::vector<uint64_t> table_;  // open addressing; a power of two, at most half full; empty once all are counted
  uint32_t count_ = 0;
};

/// How many elements the lists of dimensions in a trace's texts stand for ([[8, 4], [4]] → 36; [8, 1, 1] → 8), found
/// once a text.
class ElementCounts {
 public:
  explicit ElementCounts(const StringTable& names) : names_(&names), by_text_(names.size(), kUnseen) {}
  double of(uint32_t text) {
    const double known = by_text_[text];
    return known >= 0 ? known : find(text);
  }

 private:
  static constexpr double kUnseen = -1;
  double find(uint32_t text);

  const StringTable* names_;
  std::vector<double> by_text_;
};

}  // namespace eroica
