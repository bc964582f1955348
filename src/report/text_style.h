#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pattern/pattern.h"

namespace eroica {

/// What the terminal can show.
struct TextStyle {
  bool color = false;
  bool utf8 = true;

  [[nodiscard]] std::string bold(std::string_view text) const { return painted("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return painted("2", text); }
  [[nodiscard]] std::string warning(std::string_view text) const { return painted("33", text); }
  [[nodiscard]] std::string of_class(TimeClass time_class, std::string_view text) const;

  [[nodiscard]] std::string_view dot() const { return utf8 ? " · " : " - "; }
  [[nodiscard]] std::string_view ellipsis() const { return utf8 ? "…" : "..."; }
  [[nodiscard]] std::string_view arrow() const { return utf8 ? " › " : " > "; }

  /// Names come from traces: control characters and broken UTF-8 must not reach a terminal.
  [[nodiscard]] std::string clean(std::string_view text) const;
  /// Cut to `width` columns with an ellipsis in the end, or in the front (for paths). `text` is clean.
  [[nodiscard]] std::string cut_end(const std::string& text, size_t width) const;
  [[nodiscard]] std::string cut_front(const std::string& text, size_t width) const;

  /// A stacked bar of `width` columns: each class a letter, or a block of its colour.
  [[nodiscard]] std::string bar(std::span<const double, kTimeClassCount> values, double full, size_t width) const;
  /// One character a value, from nothing to the largest.
  [[nodiscard]] std::string sparkline(std::span<const double> values) const;

 private:
  [[nodiscard]] std::string painted(std::string_view code, std::string_view text) const;
};

/// Columns that a text takes: code points, escape sequences left out.
size_t display_width(std::string_view text);

/// One word for a class, short enough for a column; and its letter in bars.
std::string_view class_word(TimeClass time_class);
char class_letter(TimeClass time_class);

}  // namespace eroica
