#pragma once

#include <string>
#include <vector>

#include "report/text_style.h"

namespace eroica {

/// Rows of cells in aligned columns.
class TextTable {
 public:
  enum class Align : uint8_t { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
    /// Columns that may be cut give way, the widest first, until the table fits.
    enum class Cut : uint8_t { kNever, kEnd, kFront } cut = Cut::kNever;
  };

  TextTable(const TextStyle& style, std::vector<Column> columns) : style_(style), columns_(std::move(columns)) {}

  /// As many cells as columns. Cells may hold colours only where their column is never cut.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// The lines, each indented by two columns, at most `width` wide where flexible columns allow; the titles dim.
  [[nodiscard]] std::string lines(size_t width) const;

 private:
  TextStyle style_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace eroica
