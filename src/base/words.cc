#include "base/words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace eroica {
namespace {

/// With the prefix that keeps it short: "1.25 GB/s".
std::string scaled_text(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 6> kPrefixes{"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{} {}{}", digits_text(value), kPrefixes[prefix], unit);
}

}  // namespace

std::string digits_text(double value) {
  if (!std::isfinite(value)) return "?";
  const double size = std::abs(value);
  if (size < 1e-9) return "0";
  if (size < 1e-3) return fmt::format("{:.2g}", value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text;
}

std::string amount_text(double value, std::string_view unit) {
  if (unit == "share" || unit == "fraction") return digits_text(value * 100) + " %";
  if (unit == "hz") return scaled_text(value, "Hz");
  if (unit == "bytes") return scaled_text(value, "B");
  if (unit == "bytes_per_s") return scaled_text(value, "B/s");
  if (unit == "bits_per_s") return scaled_text(value, "bit/s");
  if (unit == "watts") return digits_text(value) + " W";
  if (unit == "celsius") return digits_text(value) + " C";
  if (unit == "ratio") return digits_text(value) + " times";
  if (unit == "per_s") return digits_text(value) + " a second";
  if (unit == "ms_per_step") return digits_text(value) + " ms a step";
  if (unit.empty() || unit == "count" || unit == "flag" || unit == "1") return digits_text(value);
  return fmt::format("{} {}", digits_text(value), unit);
}

std::string some_of(std::span<const std::string> items, size_t most) {
  const size_t shown = std::min(items.size(), most);
  std::string text = fmt::format("{}", fmt::join(items.first(shown), ", "));
  if (items.size() > shown) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

void fill_placeholder(std::string& text, std::string_view placeholder, const std::string& word) {
  for (size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at + word.size())) {
    text.replace(at, placeholder.size(), word);
  }
}

}  // namespace eroica
