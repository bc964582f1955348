#include "report/text_table.h"

#include <algorithm>
#include <numeric>

namespace eroica {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kGap = 2;
constexpr size_t kLeastFlexible = 12;

}  // namespace

std::string TextTable::lines(size_t width) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t widest = display_width(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[c]));
    widths.push_back(widest);
  }
  size_t total = std::accumulate(widths.begin(), widths.end(), kIndent + kGap * (columns_.size() - 1));
  // Take from the widest flexible column first, so that none starves beside a long one.
  while (total > width) {
    size_t* widest = nullptr;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].cut == Column::Cut::kNever || widths[c] <= kLeastFlexible) continue;
      if (widest == nullptr || widths[c] >= *widest) widest = &widths[c];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }

  const auto line = [&](const auto& cell_of) {
    std::string text(kIndent, ' ');
    for (size_t c = 0; c < columns_.size(); ++c) {
      std::string cell = cell_of(c);
      if (columns_[c].cut == Column::Cut::kEnd) cell = style_.cut_end(cell, widths[c]);
      if (columns_[c].cut == Column::Cut::kFront) cell = style_.cut_front(cell, widths[c]);
      const size_t taken = display_width(cell);
      const std::string padding(widths[c] > taken ? widths[c] - taken : 0, ' ');
      text += columns_[c].align == Align::kRight ? padding + cell : cell + padding;
      if (c + 1 < columns_.size()) text.append(kGap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };

  std::string all = style_.dim(line([&](size_t c) { return columns_[c].title; })) + "\n";
  for (const auto& row : rows_) all += line([&](size_t c) { return row[c]; }) + "\n";
  return all;
}

}  // namespace eroica
