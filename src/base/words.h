#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace eroica {

// Figures and lists as people read them.

/// About three digits, no trailing zeros: "0.031", "4.2", "812", "12500".
std::string digits_text(double value);
/// "42 %", "35 ms", "1.98 GHz", "0.31 cores", by the units of docs/signals.md; others as they are named.
std::string amount_text(double value, std::string_view unit);

/// "a, b, c and 4 more"
std::string some_of(std::span<const std::string> items, size_t most);

/// Every `placeholder` in the text becomes `word`; what `word` itself holds stays.
void fill_placeholder(std::string& text, std::string_view placeholder, const std::string& word);

}  // namespace eroica
