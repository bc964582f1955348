#include "pattern/shapes.h"

#include "pattern/collectives.h"

namespace eroica {

void DistinctShapes::insert(uint64_t hash) {
  constexpr size_t kSmallest = 4;
  if (++count_ == kMostShapes) {
    table_ = {};
    return;
  }
  if (count_ * size_t{2} > table_.size()) {
    std::vector<uint64_t> old(std::max(kSmallest, table_.size() * 2));
    old.swap(table_);
    for (const uint64_t known : old) {
      if (known != 0) {
        place(known);
      }
    }
  }
  place(hash);
}

void DistinctShapes::place(uint64_t hash) {
  size_t at = hash;
  while (table_[at & (table_.size() - 1)] != 0) {
    ++at;
  }
  table_[at & (table_.size() - 1)] = hash;
}

double ElementCounts::find(uint32_t text) {
  by_text_[text] = static_cast<double>(count_elements(names_->text(text)));
  return by_text_[text];
}

}  // namespace eroica
